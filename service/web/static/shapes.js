// Owns what the parts of a memory's graph are: people as circles, things as plates, things said as small slips.

import { widthOf } from "./labels.js";

const THING = 14;
const SAID = 12;
const NAME = 14;
const LONGEST_THING = 9; // of full width; what is longer is something said, not the name of a thing
const LINE = 12;
const PIECES = /[!-~’]+\s?|.[、。,.」』)!?!?]*/gu;

/** The nodes and links to draw: the owner in the middle, tied to everybody it talked with. */
export function shapes({ character_id, character_name, entities, facts, episodes }) {
  const nodes = new Map(entities.map((one) => [one.id, { ...one, talks: 0 }]));
  const person = (id, name, kind) => {
    const known = entities.find((one) => one.person_id === id);
    const key = known?.id ?? `person ${id}`;
    if (!known && !nodes.has(key)) nodes.set(key, { id: key, name, person_id: id, kind, facts: 0, talks: 0 });
    return nodes.get(key);
  };
  const owner = person(character_id, character_name, "character");
  Object.assign(owner, { fixed: true, owner: true });
  for (const { partner_id, partner_name } of episodes) person(partner_id, partner_name, "npc").talks++;
  for (const node of nodes.values()) Object.assign(node, node.kind ? circle(node) : plate(node));
  const ties = [...nodes.values()].filter((node) => node.talks && node !== owner).map((node) => ({ from: owner.id, to: node.id, talks: node.talks }));
  const edges = facts.map((fact) => ({ from: fact.from_id, to: fact.to_id, relation: clipped(fact.slot.split("/").pop(), LONGEST_THING), fact }));
  return { nodes: [...nodes.values()], ties, edges: bent(edges) };
}

/** A person: the more facts, the larger; the name below. */
function circle({ name, facts, owner }) {
  const radius = owner ? 30 : Math.min(28, 16 + 2.5 * Math.sqrt(facts));
  const lines = [clipped(name, LINE)];
  const width = Math.max(2 * radius, widthOf(lines[0], NAME)) + 6;
  return { shape: "person", radius, lines, size: NAME, width, height: 2 * radius + 26, lift: 11 };
}

/** A thing, or what somebody said of which only the beginning fits. */
function plate({ name, facts }) {
  const said = widthOf(name, 1) > LONGEST_THING;
  const size = said ? SAID : Math.min(19, THING + 1.5 * (facts - 1));
  const even = Math.ceil(widthOf(name, 1) / 2) + 1; // two lines of about the same length, if that is all of it
  const lines = said ? wrapped(name, Math.min(LINE, even), 2) : [name];
  const width = Math.max(...lines.map((line) => widthOf(line, size))) + (said ? 18 : 24);
  return { shape: said ? "said" : "thing", lines, size, width, height: lines.length * size * 1.4 + 11, lift: 0 };
}

/** A text in at most `most` lines of that many full-width letters; an ellipsis where it goes on. */
function wrapped(text, length, most) {
  const lines = [""];
  for (const piece of text.match(PIECES) ?? []) {
    const last = lines.length - 1;
    if (lines[last] && widthOf(lines[last] + piece.trimEnd(), 1) > length) {
      if (lines.length === most) {
        lines[last] = `${lines[last].trimEnd()}…`;
        break;
      }
      lines.push(piece);
    } else lines[last] += piece;
  }
  return lines.map((line) => clipped(line.trim(), length + 2));
}

function clipped(text, length) {
  if (widthOf(text, 1) <= length) return text;
  const letters = [...text];
  while (widthOf(letters.join(""), 1) > length - 1) letters.pop();
  return `${letters.join("")}…`;
}

/** Several facts between the same two part from each other: `bend` -1, 0, 1 … */
function bent(edges) {
  const between = new Map();
  for (const edge of edges) {
    const key = [edge.from, edge.to].sort().join(" ");
    between.set(key, [...(between.get(key) ?? []), edge]);
  }
  for (const same of between.values()) {
    same.forEach((edge, index) => {
      const side = edge.from < edge.to ? 1 : -1;
      edge.bend = side * (index - (same.length - 1) / 2);
    });
  }
  return edges;
}

/** The way of a line from one node to another: from edge to edge of their shapes, bent; and its middle. */
export function way(a, b, bend = 0) {
  const [start, end] = [{ x: a.x, y: a.y - a.lift }, { x: b.x, y: b.y - b.lift }];
  if (a === b) return loop(start, a, bend);
  const [dx, dy] = [end.x - start.x, end.y - start.y];
  const far = Math.hypot(dx, dy) || 1;
  const off = bend * 34;
  const turn = { x: (start.x + end.x) / 2 - (dy / far) * off, y: (start.y + end.y) / 2 + (dx / far) * off };
  const [p, q] = [brim(a, start, turn, 1), brim(b, end, turn, 5)];
  const at = (part) => ({ x: mix(p.x, turn.x, q.x, part), y: mix(p.y, turn.y, q.y, part) });
  return { path: `M${spot(p)}Q${spot(turn)} ${spot(q)}`, at };
}

const mix = (a, b, c, part) => a * (1 - part) ** 2 + 2 * b * part * (1 - part) + c * part ** 2;
const spot = ({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`;

function loop({ x, y }, node, bend) {
  const [half, top] = [14 + 4 * Math.abs(bend), y - (node.radius ?? node.height / 2)];
  const high = top - 40 - 14 * Math.abs(bend);
  const path = `M${spot({ x: x - half, y: top })}C${spot({ x: x - half * 2, y: high })} ${spot({ x: x + half * 2, y: high })} ${spot({ x: x + half, y: top - 4 })}`;
  return { path, at: () => ({ x, y: high + 12 }) };
}

/** Where the line from the middle of a node towards a point leaves its shape, `gap` further on. */
function brim(node, from, towards, gap) {
  const [dx, dy] = [towards.x - from.x, towards.y - from.y];
  const far = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / far, dy / far];
  const out = node.radius ?? Math.min(node.width / 2 / (Math.abs(ux) || 1e-6), node.height / 2 / (Math.abs(uy) || 1e-6));
  return { x: from.x + ux * (out + gap), y: from.y + uy * (out + gap) };
}
