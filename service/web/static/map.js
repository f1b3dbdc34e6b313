// Owns the map on the page: the ground, the people who move on it, and what they say, drawn while something moves.

import { h, setText } from "./dom.js";
import { portrait } from "./faces.js";
import { draw, placed, scaleFor } from "./ground.js";
import { around, shared } from "./labels.js";
import { looks, veil } from "./sky.js";
import { t } from "./page.js";
import { Throng } from "./throng.js";
import { nextStart, spotAt } from "./walk.js";

const APART = 46; // pixels between people who stand on one node
const TOGETHER = 4; // more of them are a crowd with a number
const NAMED = 60; // more people than that on a map are drawn together, and who is pointed at is named
const SPOKEN_MS = 9000; // for so long a line stays, if nobody says the next
const READ_MS = 1400; // and at least so long, however fast the world goes
const WAYS = [[0.5, false], [0.2, false], [0.8, false], [0.5, true], [0.2, true], [0.8, true]]; // a line's: the share left of its speaker, below
const ZOOMS = [0.35, 0.5, 0.7, 1, 1.4, 2, 2.8];

/**
 * The map in `box`. `source` tells what is shown: `now(ms)` the moment, `isMoving()` whether it goes on by itself,
 * `legs` of everybody by id, `people`, `lines(at)` what is said. `on` is told of what is pressed: person, crowd, talk, map.
 */
export class Village {
  constructor(box, source, on) {
    Object.assign(this, { box, source, on, zoom: ZOOMS.indexOf(1), figures: new Map(), crowds: new Map(), bubbles: new Map(), chosen: null, followed: null, frame: 0, lit: null });
    this.scene = h("div", { class: "land" });
    this.veil = h("div", { class: "veil" });
    this.sky = h("div", { class: "weather" });
    this.throng = new Throng(box);
    this.people = h("div", { class: "crowd" }, this.throng.node);
    this.said = h("div", { class: "bubbles" });
    box.replaceChildren(this.scene);
    box.addEventListener("scroll", () => this.throng.draw(this.throng.shown));
    this.scene.addEventListener("click", (event) => this.press(event), true);
    this.scene.addEventListener("pointermove", (event) => this.point(event));
    new ResizeObserver(() => this.fit()).observe(box);
  }

  /** Shows the map of that id; `background` is its picture, if it has one. */
  show(world, mapId, background) {
    Object.assign(this, { world, mapId, background, place: placed(world, mapId, background) });
    this.redraw();
  }

  /** A window of another width: what is under its middle stays there. */
  fit() {
    if (this.place && this.width !== this.box.clientWidth) this.redraw();
  }

  /** One step nearer or further; false: there is none. */
  zoomBy(step) {
    const zoom = this.zoom + step;
    if (!ZOOMS[zoom]) return false;
    this.zoom = zoom;
    this.redraw();
    return true;
  }

  redraw() {
    const { box, scene } = this;
    const before = this.ground && { x: (box.scrollLeft + box.clientWidth / 2) / this.ground.size.width, y: (box.scrollTop + box.clientHeight / 2) / this.ground.size.height };
    this.width = box.clientWidth;
    const scale = scaleFor(this.place, box) * ZOOMS[this.zoom];
    this.ground = draw(this.world, this.mapId, this.place, scale, this.background, this.on.map);
    const { size, beneath, above, gates } = this.ground;
    Object.assign(scene.style, { width: `${size.width}px`, height: `${size.height}px` });
    scene.replaceChildren(beneath, this.veil, this.sky, above, ...gates, this.people, this.said);
    for (const gate of gates) moveTo(gate, Number(gate.dataset.x), Number(gate.dataset.y));
    this.lit = null;
    for (const kept of [this.figures, this.crowds]) for (const one of kept.values()) one.at = "";
    for (const bubble of this.bubbles.values()) bubble.way = null;
    if (before) this.scrollTo(before.x * size.width, before.y * size.height);
    this.wake();
  }

  scrollTo(x, y) {
    this.box.scrollLeft = x - this.box.clientWidth / 2;
    this.box.scrollTop = y - this.box.clientHeight / 2;
  }

  /** Brings somebody into the middle, where the map is larger than its box. */
  lookAt(id) {
    const spot = this.spots?.get(id);
    if (spot) this.scrollTo(spot.x, spot.y);
  }

  set weather(words) {
    this.sky.className = `weather ${looks(words)}`;
  }

  /** Something may have changed: draws it, and goes on while somebody moves. */
  wake() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.later);
    if (this.place) this.draw(performance.now());
  }

  draw(ms) {
    const at = this.source.now(ms);
    const isWalking = this.placePeople(at, ms);
    this.placeLines(at, ms);
    this.light(at);
    if (this.followed) this.keepInSight();
    this.source.shown?.(at);
    if (!this.source.isMoving(ms)) return;
    // Nobody walks: the page rests until somebody does, and looks now and then what is said.
    const rests = !isWalking && nextStart(this.source.legs.values(), at) > this.source.now(ms + 250);
    if (rests) this.later = setTimeout(() => this.draw(performance.now()), 250);
    else this.frame = requestAnimationFrame((next) => this.draw(next));
  }

  light(at) {
    const step = Math.floor(at / 4);
    if (this.lit === step) return;
    this.lit = step;
    this.veil.style.backgroundColor = veil(at);
    this.ground.light(at);
  }

  // ---- people ------------------------------------------------------------------------------------------------------

  placePeople(at, ms) {
    const { legs, people } = this.source;
    const groups = new Map();
    const spots = new Map();
    let isWalking = false;
    for (const person of people) {
      const own = legs.get(person.id);
      const spot = own && spotAt(own, at);
      if (!spot) continue;
      const [from, to] = [this.ground.points.get(spot.node), this.ground.points.get(spot.toward)];
      if (spot.toward) isWalking = true;
      if (!from) continue;
      if (to) {
        const hop = Math.abs(Math.sin(ms / 130 + spot.node.length)) * 3;
        spots.set(person.id, { x: from.x + (to.x - from.x) * spot.part, y: from.y + (to.y - from.y) * spot.part, hop });
      } else if (groups.has(spot.node)) groups.get(spot.node).push(person);
      else groups.set(spot.node, [person]);
    }
    const walkers = new Set(spots.keys());
    for (const [node, group] of groups) this.stand(node, group, spots);
    if (spots.size <= NAMED) part([...spots].filter(([id, spot]) => !walkers.has(id) && !spot.isHidden).map(([, spot]) => spot));
    this.spots = spots;
    this.drawPeople(people, spots, groups);
    return isWalking;
  }

  /** A few stand side by side; of many there is one figure with their number, and who is followed beside it. */
  stand(node, group, spots) {
    const { x, y } = this.ground.points.get(node);
    const isCrowd = group.length > TOGETHER;
    const shown = isCrowd ? group.filter((one) => one.id === this.chosen).slice(0, 1) : group;
    const wide = isCrowd ? shown.length + 1 : shown.length;
    shown.forEach((one, index) => spots.set(one.id, { x: x + (index + (isCrowd ? 1 : 0) - (wide - 1) / 2) * APART, y, hop: 0 }));
    if (isCrowd) {
      const middle = { x: x - ((wide - 1) / 2) * APART, y };
      spots.set(`crowd ${node}`, middle);
      for (const one of group) if (!spots.has(one.id)) spots.set(one.id, { ...middle, isHidden: true });
    }
  }

  drawPeople(people, spots, groups) {
    const isMany = [...spots.values()].filter((spot) => !spot.isHidden).length > NAMED;
    const together = [];
    const seen = new Set();
    for (const person of people) {
      const spot = spots.get(person.id);
      if (!spot || spot.isHidden) continue;
      if (isMany && person.id !== this.chosen) {
        together.push({ person, x: spot.x, y: spot.y - spot.hop });
        continue;
      }
      seen.add(person.id);
      if (!this.figures.has(person.id)) this.figures.set(person.id, this.figure(person));
      const { node } = this.figures.get(person.id);
      put(this.figures.get(person.id), spot.x, spot.y - spot.hop);
      node.classList.toggle("chosen", person.id === this.chosen);
      node.classList.toggle("talking", Boolean(person.talking_in));
    }
    drop(this.figures, seen);
    this.throng.draw(together);
    const crowded = new Set();
    for (const [node, group] of groups) {
      const spot = spots.get(`crowd ${node}`);
      if (!spot) continue;
      crowded.add(node);
      if (!this.crowds.has(node)) this.crowds.set(node, this.crowd());
      const crowd = this.crowds.get(node);
      crowd.group = group;
      setText(crowd.number, String(group.length));
      crowd.node.setAttribute("aria-label", t("crowd", { count: group.length }));
      put(crowd, spot.x, spot.y);
    }
    drop(this.crowds, crowded);
  }

  figure({ id, name, kind }) {
    const node = h("button", { type: "button", tabindex: "-1", class: `figure ${kind}`, "data-person": id, title: name, onclick: () => this.on.person(id) },
      h("img", { src: portrait(id), alt: "", width: 36, height: 36, draggable: "false" }), h("span", { class: "name" }, name));
    this.people.append(node);
    return { node, at: "" };
  }

  /** Presses who is drawn with many others, unless something of the map lies over them. */
  press(event) {
    const person = !event.target.closest("button") && this.throng.at(event.clientX, event.clientY);
    if (!person) return;
    event.stopPropagation();
    this.on.person(person.id);
  }

  point({ clientX, clientY }) {
    const person = this.throng.at(clientX, clientY);
    this.scene.title = person?.name ?? "";
    this.scene.classList.toggle("over", Boolean(person));
  }

  crowd() {
    const number = h("strong", {});
    const node = h("button", { type: "button", class: "figure many", onclick: () => this.on.crowd(crowd.group) }, number);
    const crowd = { node, number, at: "", group: [] };
    this.people.append(node);
    return crowd;
  }

  keepInSight() {
    const spot = this.spots.get(this.followed);
    const { box } = this;
    if (!spot) return;
    const [x, y] = [spot.x - box.scrollLeft - box.clientWidth / 2, spot.y - box.scrollTop - box.clientHeight / 2];
    if (Math.abs(x) > box.clientWidth / 5) box.scrollLeft += x - (Math.sign(x) * box.clientWidth) / 5;
    if (Math.abs(y) > box.clientHeight / 5) box.scrollTop += y - (Math.sign(y) * box.clientHeight) / 5;
  }

  // ---- what is said ------------------------------------------------------------------------------------------------

  placeLines(at, ms) {
    const lines = new Map(this.source.lines(at).map((line) => [line.talk, line]));
    for (const [talk, line] of lines) {
      const known = this.bubbles.get(talk);
      const isNews = known?.turn !== line.turn || known.speaker !== line.speaker;
      if (isNews && this.spots.has(line.speaker) && (!known || ms - known.ms > READ_MS)) this.say(talk, line, ms);
    }
    const taken = [];
    for (const [talk, bubble] of this.bubbles) {
      const spot = this.spots.get(bubble.speaker);
      const isOver = !lines.has(talk) && ms - bubble.ms > READ_MS;
      if (!spot || isOver) this.hush(talk);
      else this.lift(bubble, spot, taken);
    }
  }

  say(talk, { speaker, text, act, turn }, ms) {
    this.bubbles.get(talk)?.node.remove();
    const node = h("button", { type: "button", tabindex: "-1", class: "bubble", onclick: () => this.on.talk(talk) },
      act && h("i", {}, act), h("span", {}, text));
    this.said.append(node);
    clearTimeout(this.bubbles.get(talk)?.fades);
    const fades = setTimeout(() => node.classList.add("faded"), SPOKEN_MS);
    this.bubbles.set(talk, { node, speaker, turn, ms, fades, at: "", wide: node.offsetWidth, high: node.offsetHeight });
  }

  hush(talk) {
    const { node, fades } = this.bubbles.get(talk);
    clearTimeout(fades);
    this.bubbles.delete(talk);
    node.classList.add("faded");
    setTimeout(() => node.remove(), 700);
  }

  /**
   * Above its speaker, or beneath, more to the left or to the right: where it covers the least of other lines, faces and
   * names of places; never outside the picture. It stays on that side as long as it is there.
   */
  lift(bubble, { x, y }, taken) {
    const { width, height } = this.ground.size;
    const boxAt = ([share, isBelow]) => {
      const left = Math.max(4, Math.min(width - bubble.wide - 4, x - bubble.wide * share));
      const top = Math.max(4, Math.min(height - bubble.high - 4, isBelow ? y + 30 : y - 36 - bubble.high));
      return { left, right: left + bubble.wide, top, bottom: top + bubble.high };
    };
    bubble.way ??= this.freest(boxAt, taken);
    const box = boxAt(bubble.way);
    if (!bubble.node.classList.contains("faded")) taken.push(box);
    bubble.node.classList.toggle("below", bubble.way[1]);
    bubble.node.style.setProperty("--tip", `${Math.max(14, Math.min(bubble.wide - 14, x - box.left))}px`);
    put(bubble, box.left, box.top);
  }

  freest(boxAt, taken) {
    const faces = [...this.spots.values()].filter((spot) => !spot.isHidden).map(around);
    const cost = (box) => taken.reduce((sum, other) => sum + 4 * shared(box, other), 0)
      + faces.reduce((sum, other) => sum + shared(box, other), 0) + this.ground.taken.covering(box) / 4;
    const costs = WAYS.map((way) => cost(boxAt(way)));
    return WAYS[costs.indexOf(Math.min(...costs))];
  }
}

/** People on neighbouring nodes step aside, so that every face is seen; who has may stand in another's way then. */
function part(spots) {
  for (let pass = 0; pass < 3; pass++) {
    spots.sort((a, b) => a.x - b.x || a.y - b.y);
    for (const [index, a] of spots.entries()) {
      for (const b of spots.slice(index + 1)) {
        const near = (Math.abs(b.y - a.y) < 20 ? APART + 8 : APART - 6) - (b.x - a.x);
        if (near <= 0 || Math.abs(b.y - a.y) > 34) continue;
        a.x -= near / 2;
        b.x += near / 2;
      }
    }
  }
}

const moveTo = (node, x, y) => (node.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`);

/** Only what has moved is touched. */
function put(one, x, y) {
  const at = `${x.toFixed(1)} ${y.toFixed(1)}`;
  if (one.at === at) return;
  one.at = at;
  moveTo(one.node, x, y);
  const depth = Math.round(y / 16);
  if (one.depth !== depth) one.node.style.zIndex = one.depth = depth;
}

function drop(kept, seen) {
  for (const [id, { node }] of kept) {
    if (!seen.has(id)) (node.remove(), kept.delete(id));
  }
}
