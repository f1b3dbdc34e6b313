// Owns the page of a memory's graph: the drawing, what is told beside it, and how both are walked with pointer and keys.

import { api, calm, complain } from "./api.js";
import { badge, h } from "./dom.js";
import { draw } from "./drawing.js";
import { factTold } from "./facts.js";
import { $, id, link, name, t } from "./page.js";
import { shapes } from "./shapes.js";

const LIMIT = 200; // facts: more make no picture that anybody reads
const MANY = 36; // nodes: beyond, the drawing takes the whole width, the list comes below
const NARROW = 620; // pixels: below, the drawing grows down instead of sideways
const SMALLEST = 0.74; // of its own size; beyond, the box scrolls
const LARGEST = 1.2;

let graph = null; // what the API told
let parts = null; // what is drawn of it
let drawing = null;
let entries = new Map(); // fact id -> its entry in the list
let order = []; // what the arrow keys walk over
let chosen = null; // the element last pressed or focused

// ---- what there is -------------------------------------------------------------------------------------------------

async function begin() {
  graph = await api(`/characters/${id}/memory/graph?limit=${LIMIT}`);
  parts = shapes(graph);
  const { facts, facts_total: total, episodes } = graph;
  $("counts").replaceChildren(badge(t("fact_count", { count: total })), badge(t("episode_count", { count: episodes.length })));
  $("cut").hidden = facts.length === total;
  $("cut").textContent = t("newest_only", { shown: facts.length, total });
  const past = facts.some((fact) => fact.valid_to);
  for (const one of document.querySelectorAll(".only-past")) one.hidden = !past;
  $("empty").hidden = facts.length + episodes.length > 0;
  $("drawn").hidden = !$("empty").hidden;
  if ($("drawn").hidden) return;
  $("drawn").classList.toggle("many", parts.nodes.length > MANY);
  show();
  list();
  filter();
  $("graph").setAttribute("aria-busy", "false");
}

function show() {
  const box = $("graph");
  drawing = draw(parts, t("graph_of", { name }), box.clientWidth < NARROW ? 0.62 : 1.5);
  const { picture, frame } = drawing;
  picture.style.width = `max(${frame.width * SMALLEST}px, min(100%, ${frame.width * LARGEST}px))`;
  box.replaceChildren(picture);
  box.scrollLeft = (-frame.x / frame.width) * picture.clientWidth - box.clientWidth / 2;
  for (const part of [...drawing.facts.values(), ...drawing.shapes.values()]) {
    part.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && light(part));
    part.addEventListener("pointerleave", () => light(chosen));
    part.addEventListener("focus", () => choose(part));
    part.addEventListener("click", () => choose(part));
  }
  picture.addEventListener("click", (event) => event.target === picture && choose(null));
}

function list() {
  entries = new Map(graph.facts.map((fact) => [fact.id, entry(fact)]));
  $("facts").replaceChildren(...entries.values());
  if (!entries.size) $("facts").append(h("li", { class: "quiet" }, t("no_facts")));
}

function entry(fact) {
  const part = drawing.facts.get(fact.id);
  const over = { onpointerenter: () => light(part), onpointerleave: () => light(chosen), onfocusin: () => light(part), onfocusout: () => light(chosen) };
  return h("li", { class: fact.valid_to ? "past" : "", ...over }, factTold(fact));
}

/** Only what holds, or also what no longer does: what is there stays where it is. */
function filter() {
  const past = $("past").checked;
  const shown = graph.facts.filter((fact) => past || !fact.valid_to);
  const touched = new Set(shown.flatMap((fact) => [fact.from_id, fact.to_id]));
  for (const { id: fact, valid_to } of graph.facts) {
    const away = !past && Boolean(valid_to);
    hide(drawing.facts.get(fact), away);
    entries.get(fact).hidden = away;
  }
  for (const node of parts.nodes) hide(drawing.shapes.get(node.id), !(touched.has(node.id) || node.talks || node.owner));
  order = parts.nodes.flatMap((node) => [
    drawing.shapes.get(node.id),
    ...shown.filter((fact) => fact.from_id === node.id).map((fact) => drawing.facts.get(fact.id)),
  ]).filter((part) => !part.classList.contains("away"));
  if (chosen?.classList.contains("away")) choose(null);
  else reach(chosen ?? order[0]);
}

const hide = (part, away) => part.classList.toggle("away", away);

// ---- what stands out -----------------------------------------------------------------------------------------------

function choose(part) {
  chosen = part;
  reach(part ?? order[0]);
  light(part);
}

/** The one part of the drawing that Tab reaches; the arrow keys lead to the others. */
function reach(part) {
  for (const one of order) one.setAttribute("tabindex", one === part ? "0" : "-1");
}

/** Lets a part stand out, with what belongs to it, and tells about it below. Null: nothing does. */
function light(part) {
  const { fact: factId, entity } = part?.dataset ?? {};
  const lit = graph.facts.filter((fact) => fact.id === factId || [fact.from_id, fact.to_id].includes(entity));
  const around = new Set([entity, ...lit.flatMap((fact) => [fact.from_id, fact.to_id])]);
  const node = parts.nodes.find((one) => one.id === entity);
  for (const { from, to } of parts.ties) if ([from, to].includes(entity)) around.add(from).add(to);
  drawing.picture.classList.toggle("choosing", Boolean(part));
  for (const [key, one] of drawing.facts) one.classList.toggle("lit", lit.some((fact) => fact.id === key));
  for (const [key, one] of drawing.shapes) one.classList.toggle("lit", around.has(key));
  for (const tie of drawing.picture.querySelectorAll(".tie")) tie.classList.toggle("lit", tie.dataset.to === entity || Boolean(node?.owner));
  for (const [key, one] of entries) one.classList.toggle("pointed", lit.some((fact) => fact.id === key));
  $("detail").replaceChildren(...(node ? aboutNode(node) : lit.length ? factTold(lit[0]) : [h("p", { class: "quiet" }, t("graph_hint"))]));
  if (part && !$("facts").matches(":hover, :focus-within")) bringIntoView(entries.get(lit[0]?.id));
}

/** Scrolls the list, never the page. */
function bringIntoView(one) {
  const box = $("facts");
  if (one && box.scrollHeight > box.clientHeight) box.scrollTop = one.offsetTop - box.offsetTop - box.clientHeight / 3;
}

function aboutNode(node) {
  const told = [node.talks && t("talks", { count: node.talks }), t("fact_count", { count: node.facts })].filter(Boolean).join(" · ");
  const more = node.kind === "npc" && h("a", { href: link(`/view/characters/${id}`, { about: node.person_id }) }, t("see_memory", { character: name, npc: node.name }));
  return [h("strong", {}, node.name), h("p", { class: "quiet" }, told, more && " · ", more)];
}

// ---- keys ----------------------------------------------------------------------------------------------------------

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function walk(event) {
  if (event.key === "Escape") choose(null);
  const at = order.indexOf(document.activeElement);
  const to = { Home: 0, End: order.length - 1 }[event.key] ?? (event.key in STEPS ? at + STEPS[event.key] : null);
  if (to === null || at < 0) return;
  event.preventDefault();
  order[(to + order.length) % order.length].focus();
}

$("graph").addEventListener("keydown", walk);
$("past").addEventListener("change", filter);
begin().then(calm, complain);
