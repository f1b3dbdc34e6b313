// Owns how wide texts are, and where the names on the map go: beside their place, where they cover least of what is drawn already.

const WIDE = /[\u3000-\u9fff\uff00-\uffef]/u;
const SIZE = 14;
const SHIFTS = [0, -0.4, 0.4, -0.8, 0.8, -1.1, 1.1];

/** About how wide a text of one line is, for no text is measured before it is drawn. */
export const widthOf = (text, size) => [...text].reduce((sum, letter) => sum + (WIDE.test(letter) ? size : size * 0.56), 0);

/** The box of a text of one line around its middle, in the map's units. */
function box(text, x, y) {
  const width = widthOf(text, SIZE);
  return { left: x - width / 2, right: x + width / 2, top: y - SIZE, bottom: y + 5 };
}

/** The area two boxes {left, right, top, bottom} have in common. */
export function shared(a, b) {
  const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return wide > 0 && high > 0 ? wide * high : 0;
}

/** Around somebody who stands at (x, y): the figure and its name below. */
export const around = ({ x, y }) => ({ left: x - 26, right: x + 26, top: y - 28, bottom: y + 28 });

/** A place in use. */
export const ground = ({ x, y }) => ({ left: x - 14, right: x + 14, top: y - 14, bottom: y + 14 });

/** What lies outside the frame, left and right: names do not go there. */
export function walls({ x, y, width, height }) {
  const side = { top: y, bottom: y + height };
  return [{ ...side, left: x - 999, right: x + 6 }, { ...side, left: x + width - 6, right: x + width + 999 }];
}

/**
 * Where `text` goes for the points `at`; `taken` are the boxes it should not cover, and gets the new one. Null: it would
 * cover more than half of itself everywhere.
 */
export function settle(text, at, taken) {
  const middle = at.reduce((sum, n) => sum + n.x, 0) / at.length;
  const centre = at.reduce((sum, n) => sum + n.y, 0) / at.length + 6;
  const top = Math.min(...at.map((n) => n.y)) - 24;
  const bottom = Math.max(...at.map((n) => n.y)) + 34;
  const half = (box(text, 0, 0).right - box(text, 0, 0).left) / 2;
  const left = Math.min(...at.map((n) => n.x)) - 28 - half;
  const right = Math.max(...at.map((n) => n.x)) + 28 + half;
  const places = [
    ...SHIFTS.map((shift) => [middle + half * shift, top]),
    [left, centre], [right, centre],
    ...SHIFTS.map((shift) => [middle + half * shift, bottom]),
  ];
  const covered = ([x, y]) => taken.reduce((sum, other) => sum + shared(box(text, x, y), other), 0);
  const best = places.reduce((a, b) => (covered(b) < covered(a) ? b : a));
  const own = box(text, ...best);
  if (covered(best) > ((own.right - own.left) * (own.bottom - own.top)) / 2) return null;
  taken.push(own);
  return { x: best[0], y: best[1] };
}
