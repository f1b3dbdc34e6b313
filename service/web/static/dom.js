// Owns how elements are made. Text is only ever set as text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An HTML element: h("p", {class: "quiet"}, "text", otherElement). */
export const h = (tag, props, ...children) => build(document.createElement(tag), props, children);

/** An SVG element. */
export const svg = (tag, props, ...children) => build(document.createElementNS(SVG, tag), props, children);

/** Sets the text if it is another one, so that screen readers are not told the same again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A badge. */
export const badge = (text, kind = "") => h("span", { class: `badge ${kind}` }, text);
