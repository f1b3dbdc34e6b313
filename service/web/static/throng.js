// Owns the faces of many people on a map: one canvas over what is seen of it, for an element each costs too much to move.

import { portrait } from "./faces.js";

const SIZE = 36; // pixels across, as `.figure` in style.css
const RINGS = { npc: "#c2512e", character: "#2a6fad", player: "#1d2733" }; // as `--npc-ring` there
const faces = new Map();

/** The canvas `node`, to be laid over the map's land in `box`, and who is drawn on it. */
export class Throng {
  constructor(box) {
    Object.assign(this, { box, shown: [] });
    this.node = document.createElement("canvas");
    this.node.className = "throng";
    this.node.setAttribute("aria-hidden", "true"); // the page lists everybody beside the map
  }

  /** Draws these people, each {person, x, y} in pixels of the land; who stands lower stands before the others. */
  draw(people) {
    this.shown = people.sort((a, b) => a.y - b.y);
    const { node, box } = this;
    node.hidden = !people.length;
    if (node.hidden) return;
    const sharp = window.devicePixelRatio;
    const [width, height] = [Math.round(box.clientWidth * sharp), Math.round(box.clientHeight * sharp)];
    if (node.width !== width || node.height !== height) {
      Object.assign(node, { width, height });
      Object.assign(node.style, { width: `${box.clientWidth}px`, height: `${box.clientHeight}px` });
    }
    const [left, top] = [box.scrollLeft, box.scrollTop];
    node.style.transform = `translate(${left}px, ${top}px)`;
    const pen = node.getContext("2d");
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, box.clientWidth, box.clientHeight);
    for (const { person, x, y } of people) pen.drawImage(faceOf(person, sharp, () => this.redraw()), x - left - SIZE / 2, y - top - 26, SIZE, SIZE);
  }

  /** Who is drawn at that point of the window, if anybody. */
  at(clientX, clientY) {
    if (!this.shown.length) return undefined;
    const { left, top } = this.node.parentElement.getBoundingClientRect();
    return this.shown.findLast(({ x, y }) => Math.hypot(x + left - clientX, y - 8 + top - clientY) <= SIZE / 2)?.person;
  }

  /** A portrait has come: all are drawn anew, once for all that come together. */
  redraw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw(this.shown));
  }
}

/** A round portrait with its ring, drawn once; empty until its picture is there. */
function faceOf({ id, kind }, sharp, onLoad) {
  const key = `${sharp} ${kind} ${id}`;
  if (faces.has(key)) return faces.get(key);
  const face = document.createElement("canvas");
  face.width = face.height = Math.round(SIZE * sharp);
  faces.set(key, face);
  const pen = face.getContext("2d");
  pen.scale(face.width / SIZE, face.width / SIZE);
  pen.arc(SIZE / 2, SIZE / 2, SIZE / 2 - 1.25, 0, 2 * Math.PI);
  pen.fillStyle = "#dfe6ef";
  pen.fill();
  Object.assign(pen, { strokeStyle: RINGS[kind], lineWidth: 2.5 });
  pen.stroke();
  const picture = new Image(SIZE, SIZE);
  picture.onload = () => {
    pen.save();
    pen.clip();
    pen.drawImage(picture, 0, 0, SIZE, SIZE);
    pen.restore();
    pen.stroke();
    onLoad();
  };
  picture.src = portrait(id);
  return face;
}
