// Owns the drawing of one map: ways, places, facilities, NPCs at their posts, characters where they are.

import { setText, svg } from "./dom.js";
import { around, ground, settle, walls } from "./labels.js";
import { t } from "./page.js";

const MARGIN = 70;
const APART = 44;

/** Draws the map `mapId` of `world` into `box`. Answers what places the people and finds one. */
export function draw(box, world, mapId, { onCharacter, onMap }) {
  const nodes = new Map(world.nodes.filter((n) => n.map_id === mapId).map((n) => [n.id, n]));
  const frame = frameOf([...nodes.values()]);
  const posts = Object.values(world.posts).map((id) => nodes.get(id)).filter(Boolean);
  const used = world.facilities.flatMap((f) => f.node_ids).map((id) => nodes.get(id)).filter(Boolean);
  const taken = [...walls(frame), ...posts.map(around), ...used.map(ground)];
  const people = svg("g", {});
  const picture = svg(
    "svg",
    { viewBox: Object.values(frame).join(" "), class: "picture", role: "group", "aria-label": world.maps[mapId] },
    ways(world, nodes, taken, onMap),
    svg("g", {}, world.facilities.filter((f) => f.map_id === mapId).map((f) => facility(f, nodes, taken))),
    svg("g", {}, [...nodes.values()].map(place)),
    people,
  );
  box.replaceChildren(picture);
  const drawn = new Map();
  return {
    show: (all, chosen) => show(people, drawn, nodes, all, chosen, onCharacter),
    bringIntoView: (person) => bringIntoView(box, picture, spot(person.position, nodes)),
  };
}

/** On a narrow screen the map is wider than its box: scrolls the box, not the page. */
function bringIntoView(box, picture, at) {
  if (!at) return;
  const { x, width } = picture.viewBox.baseVal;
  box.scrollLeft = ((at.x - x) / width) * picture.clientWidth - box.clientWidth / 2;
}

function frameOf(nodes) {
  const xs = nodes.map((n) => n.x);
  const ys = nodes.map((n) => n.y);
  const [x, y] = [Math.min(...xs) - MARGIN, Math.min(...ys) - MARGIN];
  return { x, y, width: Math.max(...xs) - x + MARGIN, height: Math.max(...ys) - y + MARGIN };
}

function ways(world, nodes, taken, onMap) {
  const all = new Map(world.nodes.map((n) => [n.id, n]));
  const group = svg("g", { class: "ways" });
  for (const edge of world.edges) {
    const [a, b] = [nodes.get(edge.a), nodes.get(edge.b)];
    const title = svg("title", {}, t("walk_minutes", { count: edge.minutes }));
    if (a && b) group.append(svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y }, title));
    else if (a || b) group.append(gate(a ?? b, all.get(a ? edge.b : edge.a), world, taken, onMap));
  }
  return group;
}

/** Where a way leaves this map for another one. */
function gate(here, there, world, taken, onMap) {
  const go = () => onMap(there.map_id);
  const name = `→ ${world.maps[there.map_id]}`;
  const onkeydown = (event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), go());
  return svg(
    "g",
    { class: "gate", role: "button", tabindex: "0", "aria-label": name, onclick: go, onkeydown },
    svg("circle", { cx: here.x, cy: here.y, r: 15 }),
    svg("text", settle(name, [here], taken), name),
  );
}

function facility(one, nodes, taken) {
  const at = one.node_ids.map((id) => nodes.get(id)).filter(Boolean);
  const state = one.open_now ? t("open") : t("closed");
  return svg(
    "g",
    { class: `facility ${one.open_now ? "open" : "closed"}` },
    svg("title", {}, `${one.name} — ${state} (${t("hours", { hours: one.hours.join(", ") })})`),
    svg("polyline", { points: [...at, at[0]].map((n) => `${n.x},${n.y}`).join(" ") }),
    svg("text", settle(one.name, at, taken), one.name),
  );
}

function place(node) {
  return svg(
    "circle",
    { class: "node", cx: node.x, cy: node.y, r: node.closed ? 3 : 5 },
    svg("title", {}, node.name),
  );
}

/** Where somebody is on this map; null on another one. Between two nodes if they walk. */
function spot(position, nodes) {
  const from = nodes.get(position.node_id);
  const to = nodes.get(position.toward);
  if (!from) return null;
  const part = to ? position.progress : 0;
  return { x: from.x + (to ? to.x - from.x : 0) * part, y: from.y + (to ? to.y - from.y : 0) * part };
}

function show(layer, drawn, nodes, all, chosen, onCharacter) {
  const crowd = new Map();
  const here = new Set(all.map((person) => person.id));
  for (const [id, node] of drawn) {
    if (!here.has(id)) (node.remove(), drawn.delete(id));
  }
  for (const person of all) {
    const at = spot(person.position, nodes);
    if (!at) {
      drawn.get(person.id)?.remove();
      drawn.delete(person.id);
      continue;
    }
    const key = `${Math.round(at.x)} ${Math.round(at.y)}`;
    const index = crowd.get(key) ?? 0;
    crowd.set(key, index + 1);
    if (!drawn.has(person.id)) {
      drawn.set(person.id, figure(person, onCharacter));
      layer.append(drawn.get(person.id));
    }
    const node = drawn.get(person.id);
    node.style.transform = `translate(${at.x + index * APART}px, ${at.y}px)`;
    node.classList.toggle("chosen", person.id === chosen);
    node.classList.toggle("talking", Boolean(person.talking_in));
    setText(node.querySelector("title"), `${person.name} — ${person.position.place}`);
  }
}

function figure(person, onCharacter) {
  const isCharacter = person.kind === "character";
  const press = isCharacter && { onclick: () => onCharacter(person.id) };
  return svg(
    "g",
    { class: `figure ${person.kind}`, "data-person": person.id, ...press },
    svg("title", {}, person.name),
    svg("circle", { r: isCharacter ? 15 : 12 }),
    svg("text", { class: "initial", y: 5 }, [...person.name][0]),
    svg("text", { class: "name", y: isCharacter ? 33 : 29 }, person.name),
  );
}
