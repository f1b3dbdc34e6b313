// Owns the map as a person walks it: which way an arrow leads, who is beside, and how it is drawn.

import type { Person, WorldMap } from "./kataribe.js";

type Node = WorldMap["nodes"][number];

const SVG = "http://www.w3.org/2000/svg";
const CLOSE_UP = 1.25;
const ARROWS: Record<string, [number, number]> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

export const isArrow = (key: string): boolean => key in ARROWS;

/** A world's map. */
export class Ground {
  readonly nodes: Map<string, Node>;

  constructor(private readonly map: WorldMap) {
    this.nodes = new Map(map.nodes.map((node) => [node.id, node]));
  }

  node(id: string): Node {
    const node = this.nodes.get(id);
    if (!node) throw new Error(`no node ${id}`);
    return node;
  }

  /** The nodes to which a way leads from there. */
  around = (id: string): Node[] =>
    this.map.edges.filter(({ a, b }) => a === id || b === id).map(({ a, b }) => this.node(a === id ? b : a));

  /** Where somebody begins: beside the first NPC. */
  get entrance(): string {
    const beside = Object.values(this.map.posts).flatMap(this.around).find((node) => !node.closed);
    return (beside ?? this.map.nodes.find((node) => !node.closed) ?? this.node("")).id;
  }

  /** The open node that lies most nearly in the arrow's direction; null: no way leads there. */
  toward(from: string, key: string): string | null {
    const [x, y] = ARROWS[key] ?? [0, 0];
    const here = this.node(from);
    const along = (node: Node): number => {
      const [dx, dy] = [node.x - here.x, node.y - here.y];
      return node.map_id === here.map_id ? (dx * x + dy * y) / Math.hypot(dx, dy) : 0.5; // another map: past the edge
    };
    const ways = this.around(from).filter((node) => !node.closed && along(node) > 0.4);
    return ways.sort((one, other) => along(other) - along(one))[0]?.id ?? null;
  }

  /** Who stands on that node, or a step away. */
  beside(here: string, people: Person[]): Person[] {
    const near = new Set([here, ...this.around(here).map((node) => node.id)]);
    return people.filter(({ position }) => position && near.has(position.node_id) && !position.walking_to);
  }

  /** Draws what is around `here`: the middle of the picture. */
  draw(picture: SVGSVGElement, here: string, people: Person[], me: string, near: Person[]): void {
    const { x, y, map_id } = this.node(here);
    const [width, height] = [picture.clientWidth / CLOSE_UP, picture.clientHeight / CLOSE_UP];
    picture.setAttribute("viewBox", [x - width / 2, y - height / 2, width, height].join(" "));
    const shown = this.map.nodes.filter((node) => node.map_id === map_id);
    const ways = this.map.edges.map(({ a, b }) => [this.node(a), this.node(b)] as const);
    const inside = ways.filter(([a, b]) => a.map_id === map_id && b.map_id === map_id);
    const out = ways.flatMap(([a, b]) => [[a, b], [b, a]] as const).filter(([a, b]) => a.map_id === map_id && b.map_id !== map_id);
    picture.replaceChildren(
      ...inside.map(([a, b]) => svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y })),
      ...this.map.facilities.filter((one) => one.map_id === map_id).map((one) => this.place(one)),
      ...shown.map((node) => svg("circle", { class: "node", cx: node.x, cy: node.y, r: node.closed ? 3 : 6 })),
      ...out.map(([a, b]) => label(a, 26, `→ ${this.map.maps[b.map_id]}`)),
      ...people.flatMap((one) => (one.position && this.nodes.get(one.position.node_id)?.map_id === map_id ? this.figure(one, one.position.node_id, me, near) : [])),
    );
  }

  private place({ name, node_ids }: WorldMap["facilities"][number]): SVGElement {
    const at = node_ids.map((id) => this.node(id));
    const middle = { x: at.reduce((sum, { x }) => sum + x, 0) / at.length, y: Math.min(...at.map(({ y }) => y)) };
    const points = [...at, at[0]!].map(({ x, y }) => `${x},${y}`).join(" ");
    return svg("g", { class: "place" }, svg("polyline", { points }), label(middle, -22, name));
  }

  private figure(one: Person, node_id: string, me: string, near: Person[]): SVGElement[] {
    const { x, y } = this.node(node_id);
    const look = one.id === me ? "me" : `${one.kind}${near.includes(one) ? " near" : ""}`;
    return [svg("circle", { class: look, cx: x, cy: y, r: 11 }), label({ x, y }, 28, one.name)];
  }
}

const label = ({ x, y }: { x: number; y: number }, down: number, text: string): SVGElement =>
  svg("text", { x, y: y + down }, text);

function svg(tag: string, props: Record<string, string | number>, ...inside: (SVGElement | string)[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value));
  element.append(...inside);
  return element;
}
