// Owns how wide texts are, and where the names on the map go: beside their place, where they cover least of what is drawn already.

const WIDE = /[\u3000-\u9fff\uff00-\uffef]/u;
const SIZE = 14;
const SHIFTS = [0, -0.4, 0.4, -0.8, 0.8, -1.1, 1.1];

/** About how wide a text of one line is, for no text is measured before it is drawn. */
export const widthOf = (text, size) => [...text].reduce((sum, letter) => sum + (WIDE.test(letter) ? size : size * 0.56), 0);

/** The box of a text of one line around its middle, in the map's units. */
function box(text, x, y, size, gap = 0) {
  const half = widthOf(text, size) / 2 + gap;
  return { left: x - half, right: x + half, top: y - size - gap, bottom: y + 5 + gap };
}

/** The area two boxes {left, right, top, bottom} have in common. */
export function shared(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return wide > 0 && high > 0 ? wide * high : 0;
}

/** Around somebody who stands at (x, y), or around two who stand there side by side: faces, and the names below. */
export const around = ({ x, y }) => ({ left: x - 28, right: x + 28, top: y - 28, bottom: y + 28 });
export const aroundTwo = ({ x, y }) => ({ ...around({ x, y }), left: x - 50, right: x + 50 });

const CELL = 128; // pixels

/** What is drawn already, by cells of the map: of thousands of boxes, only those near by are asked. */
export class Taken {
  constructor(boxes) {
    this.cells = new Map();
    boxes.forEach((one) => this.add(one));
  }

  add(one) {
    for (const key of cellsOf(one)) {
      if (this.cells.has(key)) this.cells.get(key).push(one);
      else this.cells.set(key, [one]);
    }
  }

  /** How much of that box is covered, as an area. */
  covering(one) {
    const near = new Set([...cellsOf(one)].flatMap((key) => this.cells.get(key) ?? []));
    return [...near].reduce((sum, other) => sum + shared(one, other), 0);
  }
}

function* cellsOf({ left, right, top, bottom }) {
  for (let x = Math.floor(left / CELL); x <= right / CELL; x++) {
    for (let y = Math.floor(top / CELL); y <= bottom / CELL; y++) yield `${x} ${y}`;
  }
}

/** What lies outside the frame, left and right: names do not go there. */
export function walls({ x, y, width, height }) {
  const side = { top: y, bottom: y + height };
  return [{ ...side, left: x - 400, right: x + 6 }, { ...side, left: x + width - 6, right: x + width + 400 }];
}

/**
 * Where `text` goes for the points `at`; `taken` (Taken) is what it should not cover, and gets the new one. Null: it would
 * cover more than that share (`most`) of itself everywhere. `near`: pixels from the points, `gap`: pixels kept free around.
 */
export function settle(text, at, taken, { size = SIZE, most = 0.15, near = 28, gap = 0 } = {}) {
  const middle = at.reduce((sum, n) => sum + n.x, 0) / at.length;
  const centre = at.reduce((sum, n) => sum + n.y, 0) / at.length + 6;
  const top = Math.min(...at.map((n) => n.y)) - near - 4;
  const bottom = Math.max(...at.map((n) => n.y)) + near + size;
  const half = widthOf(text, size) / 2;
  const left = Math.min(...at.map((n) => n.x)) - near - 2 - half;
  const right = Math.max(...at.map((n) => n.x)) + near + 2 + half;
  const places = [
    ...SHIFTS.map((shift) => [middle + half * shift, top]),
    [left, centre], [right, centre],
    ...SHIFTS.map((shift) => [middle + half * shift, bottom]),
  ];
  let best = null;
  let least = Infinity;
  for (const [x, y] of places) {
    const covered = taken.covering(box(text, x, y, size, gap));
    if (covered < least) [best, least] = [{ x, y }, covered];
    if (!covered) break;
  }
  const own = box(text, best.x, best.y, size);
  if (least > (own.right - own.left) * (own.bottom - own.top) * most) return null;
  taken.add(own);
  return best;
}
