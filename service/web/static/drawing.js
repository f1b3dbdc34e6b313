// Owns the drawing of a memory's graph, and what of it stands out.

import { svg } from "./dom.js";
import { shared, widthOf } from "./labels.js";
import { layout } from "./layout.js";
import { t } from "./page.js";
import { way } from "./shapes.js";

const MARGIN = 22;
const RELATION = 12;
const STOPS = [0.44, 0.5, 0.38, 0.56, 0.32, 0.62];

/** Draws nodes, ties and edges (see shapes.js). Answers the picture and its parts: id -> element, by node and by fact. */
export function draw({ nodes, ties, edges }, label, aspect) {
  const near = 64 + 12 * Math.sqrt(edges.length); // room for the leaves between neighbours
  const crowd = new Map(nodes.map((node) => [node.id, Math.min(12, node.facts)]));
  const room = ({ from, to, relation }) => widthOf(relation, RELATION) + 38 + 6 * Math.max(crowd.get(from), crowd.get(to));
  const links = [
    ...ties.map((tie) => ({ ...tie, near })),
    ...edges.map((edge) => ({ ...edge, near: room(edge) })),
  ];
  layout(nodes, links, aspect);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const taken = nodes.map((node) => grown(node, 1));
  for (const { from, to, bend } of edges) taken.push(tip(way(byId.get(from), byId.get(to), bend).at(0.97)));
  const lines = ties.map((tie) => tied(tie, byId, taken));
  const relations = new Map(edges.map((edge) => [edge.fact.id, related(edge, byId, taken)]));
  const shapes = new Map(nodes.map((node) => [node.id, shape(node)]));
  const frame = frameOf(nodes);
  const picture = svg(
    "svg",
    { viewBox: Object.values(frame).map((n) => n.toFixed(0)).join(" "), class: "memories", role: "group", "aria-label": label },
    svg("defs", {}, arrow("arrow"), arrow("arrow-past"), arrow("arrow-lit")),
    svg("g", {}, lines), svg("g", {}, [...relations.values()]), svg("g", {}, [...shapes.values()]),
  );
  return { picture, frame, facts: relations, shapes };
}

function frameOf(nodes) {
  const boxes = nodes.map((node) => grown(node, MARGIN));
  const [x, y] = [Math.min(...boxes.map((b) => b.left)), Math.min(...boxes.map((b) => b.top))];
  return { x, y, width: Math.max(...boxes.map((b) => b.right)) - x, height: Math.max(...boxes.map((b) => b.bottom)) - y };
}

function grown({ x, y, width, height }, by) {
  return { left: x - width / 2 - by, right: x + width / 2 + by, top: y - height / 2 - by, bottom: y + height / 2 + by };
}

/** Where an arrow's head is: no word goes there. */
const tip = ({ x, y }) => ({ left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 });

const arrow = (id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 6, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 11, markerHeight: 11, orient: "auto" }, svg("path", { d: "M0,0.5L8,4L0,7.5Z" }));

function tied({ from, to, talks }, byId, taken) {
  const { path, at } = way(byId.get(from), byId.get(to));
  return svg("g", { class: "tie", "data-to": to }, svg("path", { d: path }), ...words(t("talks", { count: talks }), at, taken));
}

/** A memory: a fat line to be met by pointers, the line itself, and what of it has one value, where there is room. */
function related({ from, to, bend, relation, fact }, byId, taken) {
  const { path, at } = way(byId.get(from), byId.get(to), bend);
  return svg(
    "g",
    { class: `fact${fact.valid_to ? " past" : ""}`, role: "graphics-symbol", tabindex: "-1", "aria-label": told(fact), "data-fact": fact.id },
    svg("path", { class: "wide", d: path }), svg("path", { class: "line", d: path }),
    ...words(relation, at, taken),
  );
}

const told = ({ line, valid_to }) => (valid_to ? `${line} — ${t("no_longer")}` : line);

/** A text beside the middle of a line, hidden until asked for if everywhere it would cover something. */
function words(text, at, taken) {
  if (!text) return [];
  const half = widthOf(text, RELATION) / 2 + 2;
  const boxed = ({ x, y }) => ({ left: x - half, right: x + half, top: y - RELATION / 2 - 2, bottom: y + RELATION / 2 + 2 });
  const stop = STOPS.find((part) => taken.every((other) => !shared(boxed(at(part)), other)));
  const { x, y } = at(stop ?? STOPS[0]);
  if (stop) taken.push(boxed({ x, y }));
  return [svg("text", { class: stop ? "relation" : "relation crowded", x: x.toFixed(1), y: (y + RELATION * 0.36).toFixed(1) }, text)];
}

function shape(node) {
  const { id, x, y, name, kind, owner, shape: what, facts } = node;
  const label = `${name} — ${t("fact_count", { count: facts })}`;
  const place = `translate(${x.toFixed(1)} ${y.toFixed(1)})`;
  const look = ["entity", what, kind, owner && "owner"].filter(Boolean).join(" ");
  return svg("g", { class: look, transform: place, role: "graphics-symbol", tabindex: "-1", "aria-label": label, "data-entity": id },
    what === "person" ? person(node) : plate(node));
}

function person({ radius, lines, size, lift, height, name }) {
  return [
    svg("circle", { r: radius, cy: -lift }),
    svg("text", { class: "initial", y: -lift + radius * 0.34, "font-size": radius * 0.95 }, [...name][0]),
    svg("text", { class: "name", y: height / 2 - 6, "font-size": size }, lines[0]),
  ];
}

function plate({ lines, size, width, height, shape: what }) {
  const first = -((lines.length - 1) * size * 1.4) / 2 + size * 0.36;
  return [
    svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: what === "said" ? 4 : height / 2 }),
    lines.map((line, index) => svg("text", { y: first + index * size * 1.4, "font-size": size }, line)),
  ];
}
