// Owns what lies still on a map: its picture, ways, places and the names of what is there, at a scale, in pixels.

import { h, svg } from "./dom.js";
import { around, aroundTwo, settle, Taken, walls, widthOf } from "./labels.js";
import { layout } from "./layout.js";
import { spread } from "./pivots.js";
import { isDark, isOpen } from "./sky.js";
import { t } from "./page.js";

const READABLE = 54; // pixels from node to node, about, below which nobody could be told from the next
const TALLEST = 0.72; // of the window
const SPRINGS = 150; // nodes
const NAME = 32; // letters
const ROOMY = 130; // pixels from node to node, about, from which the nodes on a picture have their names too

/** The nodes of a map with places to draw them at, and the frame around them: {nodes: id -> node, frame}, in its own units. */
export function placed(world, mapId, background) {
  let nodes = world.nodes.filter((node) => node.map_id === mapId);
  const ids = new Set(nodes.map((node) => node.id));
  const edges = world.edges.filter(({ a, b }) => ids.has(a) && ids.has(b));
  const spots = new Set(nodes.map(({ x, y }) => `${x} ${y}`));
  if (spots.size <= nodes.length / 2) nodes = laidOut(nodes, edges); // its author gave none
  const [xs, ys] = [nodes.map((node) => node.x), nodes.map((node) => node.y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const margin = Math.max(right - left, bottom - top) * 0.07 || 1;
  const [x, y] = [left - margin, top - margin];
  const frame = background ?? { x, y, width: right - left + 2 * margin, height: bottom - top + 2 * margin };
  return { nodes: new Map(nodes.map((node) => [node.id, node])), edges, frame };
}

/** A small map by springs, one of thousands of nodes by its distances: a page is not to wait. */
function laidOut(nodes, edges) {
  if (nodes.length > SPRINGS) {
    const places = spread(nodes.map((node) => node.id), edges, READABLE);
    return nodes.map((node) => ({ ...node, ...places.get(node.id) }));
  }
  const boxes = nodes.map(({ id }) => ({ id, width: 40, height: 40 }));
  layout(boxes, edges.map(({ a, b }) => ({ from: a, to: b, near: 30 })), 1.7);
  return nodes.map((node, index) => ({ ...node, x: boxes[index].x, y: boxes[index].y }));
}

/** How far it is from a node to the next, for most of them. */
function usual({ nodes, edges, frame }) {
  const long = edges.map(({ a, b }) => Math.hypot(nodes.get(a).x - nodes.get(b).x, nodes.get(a).y - nodes.get(b).y));
  return long.sort((a, b) => a - b)[long.length >> 1] || frame.width / 8;
}

/** How many pixels a unit of the map is: all of it in the box, if people can be told from each other then. */
export function scaleFor(place, box) {
  const { frame } = place;
  const wide = box.clientWidth / frame.width;
  const whole = frame.width > 1.5 * frame.height ? wide : Math.min(wide, (innerHeight * TALLEST) / frame.height);
  const high = parseFloat(getComputedStyle(box).minHeight) / frame.height || 0; // no empty strip beneath a wide map
  return Math.max(whole, high, Math.min(READABLE / usual(place), (4 * box.clientWidth) / frame.width));
}

/** Draws it. Answers what lies beneath the veil of night and what above, and what shows its shops as they are at a time. */
export function draw(world, mapId, place, scale, background, onMap) {
  const { nodes, edges, frame } = place;
  const at = (node) => ({ x: (node.x - frame.x) * scale, y: (node.y - frame.y) * scale });
  const size = { width: Math.round(frame.width * scale), height: Math.round(frame.height * scale) };
  const points = new Map([...nodes].map(([id, node]) => [id, at(node)]));
  const shops = world.facilities.filter((one) => one.map_id === mapId);
  const posts = Object.values(world.posts).map((id) => points.get(id)).filter(Boolean);
  const used = shops.flatMap((one) => one.node_ids).map((id) => points.get(id)).filter(Boolean);
  const taken = new Taken([...walls({ x: 0, y: 0, ...size }), ...posts.map(around), ...used.map(aroundTwo)]);
  const whole = { viewBox: `0 0 ${size.width} ${size.height}`, ...size };
  const gates = [...ways(world, nodes, points, size.width, taken, onMap)];
  const drawn = shops.map((one) => shop(one, points, taken));
  const apart = usual(place) * scale;
  const areNamed = !background || apart >= ROOMY;
  const called = areNamed ? [...nodes.values()].filter(({ id, name }) => !shops.length || name !== id) : [];
  const names = called.map(({ id, name }) => signed(name, points.get(id), taken, apart));
  const beneath = svg("svg", { ...whole, class: background ? "ground pictured" : "ground", "aria-hidden": "true" },
    background && svg("image", { href: background.file, ...size, preserveAspectRatio: "none" }),
    svg("path", { class: "ways", d: edges.map(({ a, b }) => line(points.get(a), points.get(b))).join("") }),
    svg("path", { class: "nodes", d: [...points.values()].map(dot).join("") }),
    drawn.map(({ area }) => area));
  const above = svg("svg", { ...whole, class: "signs", role: "img", "aria-label": world.maps[mapId] },
    svg("defs", {}, glow()), drawn.map(({ sign }) => sign), names);
  const light = (minute) => drawn.forEach((one) => one.show(isOpen(one.hours, minute), isDark(minute)));
  return { size, points, beneath, above, gates, light, taken };
}

const spot = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
const line = (a, b) => `M${spot(a)}L${spot(b)}`;
const dot = (point) => `M${spot(point)}h0`;

const glow = () => svg("radialGradient", { id: "lamp" },
  svg("stop", { offset: "0", "stop-color": "#ffd77a", "stop-opacity": ".85" }),
  svg("stop", { offset: "1", "stop-color": "#ffb13d", "stop-opacity": "0" }));

function shop(one, points, taken) {
  const at = one.node_ids.map((id) => points.get(id)).filter(Boolean);
  const place = settle(one.name, at, taken);
  const area = svg("polyline", { class: "area", points: [...at, at[0]].map(spot).join(" ") });
  const lamps = svg("g", { class: "lamps" }, at.map(({ x, y }) => svg("circle", { cx: x, cy: y, r: 46, fill: "url(#lamp)" })));
  const title = svg("title", {});
  const sign = svg("g", { class: "shop" }, title, lamps, place && svg("text", place, one.name));
  const show = (isOpenNow, isDarkNow) => {
    area.classList.toggle("closed", !isOpenNow);
    sign.classList.toggle("closed", !isOpenNow);
    lamps.style.display = isOpenNow && isDarkNow ? "" : "none";
    title.textContent = `${one.name} — ${t(isOpenNow ? "open" : "closed")} (${t("hours", { hours: one.hours.join(", ") })})`;
  };
  return { area, sign, show, hours: one.hours };
}

/** The name of a node, if it covers nothing: clear of who stands there, where the next node is far enough away. */
function signed(name, point, taken, apart) {
  const text = name.length > NAME ? `${name.slice(0, NAME - 1)}…` : name;
  const place = settle(text, [point], taken, { size: 12, most: 0, near: apart > 90 ? 28 : 8, gap: 8 });
  return place && svg("text", { ...place, class: "node" }, text);
}

/** Where ways leave this map for another one. */
function* ways(world, nodes, points, width, taken, onMap) {
  const all = new Map(world.nodes.map((node) => [node.id, node]));
  for (const { a, b } of world.edges) {
    const [here, there] = nodes.has(a) ? [a, all.get(b)] : [b, all.get(a)];
    if (!nodes.has(here) || !there || nodes.has(there.id)) continue;
    const name = `→ ${world.maps[there.map_id]}`;
    const wide = Math.min(260, width / 4.6, widthOf(name, 13.5) + 26);
    const { x, y } = points.get(here);
    const left = Math.max(6, Math.min(width - wide - 6, x - wide / 2));
    const top = Math.max(4, y - 52);
    taken.add({ left, right: left + wide, top, bottom: top + 28 });
    const gate = h("button", { type: "button", class: "gate", title: name, "data-x": left, "data-y": top, onclick: () => onMap(there.map_id) }, name);
    gate.style.width = `${wide}px`;
    yield gate;
  }
}
