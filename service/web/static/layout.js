// Owns where the parts of a graph go: springs along links, distance between all, and boxes that never cover each other.
// Pure and repeatable: the same graph is laid out the same way each time, on every machine.

const ROUNDS = 320;
const GAP = 16;
const PUSH = 19200;
const PULL = 0.07;
const CENTRE = 0.012;
const CLEAR = 0.3;
const DRAG = 0.55;

/** Pseudo-random numbers from 0 up to 1 out of a seed: only to part what would lie on one spot. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

/**
 * Gives every node its middle (x, y). A node is a box {id, width, height}, `fixed` keeps it at the centre.
 * A link is {from, to, near}: ids, and the free distance it wants. `aspect`: how much wider than high all may become.
 */
export function layout(nodes, links, aspect) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const ends = links.filter((l) => l.from !== l.to).map((l) => ({ a: byId.get(l.from), b: byId.get(l.to), near: l.near }));
  for (const node of nodes) Object.assign(node, { vx: 0, vy: 0, degree: 0 });
  for (const { a, b } of ends) a.degree++, b.degree++;
  fanOut(nodes, ends, aspect);
  for (let round = 0; round < ROUNDS; round++) {
    const heat = (1 - round / ROUNDS) ** 1.4;
    attract(ends, heat);
    repel(nodes, heat);
    if (round % 2) clear(nodes, ends, heat);
    for (const node of nodes) move(node, aspect, heat);
    if (round > ROUNDS / 3) part(nodes);
  }
  for (let round = 0; round < 400 && part(nodes); round++);
}

/** Where to begin: a tree seen from its fixed middle, every branch with as much of the circle as it has leaves. */
function fanOut(nodes, ends, aspect) {
  const random = seeded(7);
  const beside = new Map(nodes.map((node) => [node, []]));
  for (const { a, b } of ends) beside.get(a).push(b), beside.get(b).push(a);
  const seen = new Set();
  const grow = (node) => {
    seen.add(node);
    const children = [...new Set(beside.get(node))].filter((next) => !seen.has(next));
    children.forEach((next) => seen.add(next));
    node.branches = children.map(grow);
    node.leaves = node.branches.reduce((sum, next) => sum + next.leaves, 0) || 1;
    return node;
  };
  const roots = [];
  for (const node of [...nodes].sort((a, b) => Boolean(b.fixed) - Boolean(a.fixed) || b.degree - a.degree)) {
    if (!seen.has(node)) roots.push(grow(node));
  }
  const spread = (node, depth, start, end) => {
    const angle = (start + end) / 2;
    const far = depth * 170 + random();
    node.x = Math.cos(angle) * far * Math.sqrt(aspect);
    node.y = (Math.sin(angle) * far) / Math.sqrt(aspect) + random();
    let from = start;
    for (const next of node.branches) {
      const to = from + ((end - start) * next.leaves) / node.leaves;
      spread(next, depth + 1, from, to);
      from = to;
    }
  };
  const all = roots.reduce((sum, root) => sum + root.leaves, 0);
  let from = -Math.PI / 2;
  for (const root of roots) {
    if (root.fixed) spread(root, 0, -Math.PI / 2, (3 * Math.PI) / 2);
    else spread(root, roots.length > 1 ? 2 : 0, from, (from += (2 * Math.PI * root.leaves) / all));
  }
}

function attract(ends, heat) {
  for (const { a, b, near } of ends) {
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const far = Math.sqrt(dx * dx + dy * dy) || 1;
    const wanted = near + reach(a, dx, dy, far) + reach(b, dx, dy, far);
    const force = (PULL * heat * (far - wanted)) / far;
    const share = a.degree / (a.degree + b.degree);
    a.vx += dx * force * (1 - share) * 2;
    a.vy += dy * force * (1 - share) * 2;
    b.vx -= dx * force * share * 2;
    b.vy -= dy * force * share * 2;
  }
}

/** How far a box reaches from its middle in a direction. */
function reach(box, dx, dy, far) {
  return Math.min(box.width / 2 / (Math.abs(dx / far) || 1e-6), box.height / 2 / (Math.abs(dy / far) || 1e-6));
}

function repel(nodes, heat) {
  for (let i = 0; i < nodes.length; i++) {
    for (let j = i + 1; j < nodes.length; j++) {
      const a = nodes[i];
      const b = nodes[j];
      const dx = b.x - a.x;
      const dy = b.y - a.y;
      const square = dx * dx + dy * dy || 1;
      const force = (PUSH * heat) / (Math.max(square, 900) * Math.sqrt(square));
      a.vx -= dx * force;
      a.vy -= dy * force;
      b.vx += dx * force;
      b.vy += dy * force;
    }
  }
}

/** Boxes that lie on a line they are no end of leave it, sideways. */
function clear(nodes, ends, heat) {
  for (const { a, b } of ends) {
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const long = dx * dx + dy * dy || 1;
    for (const node of nodes) {
      if (node === a || node === b || node.fixed) continue;
      const part = ((node.x - a.x) * dx + (node.y - a.y) * dy) / long;
      if (part < 0.05 || part > 1) continue;
      const ox = node.x - a.x - part * dx;
      const oy = node.y - a.y - part * dy;
      const off = Math.sqrt(ox * ox + oy * oy) || 1;
      const wanted = reach(node, ox, oy, off) + GAP / 2;
      if (off >= wanted) continue;
      const force = (CLEAR * heat * (wanted - off)) / off;
      node.vx += ox * force * 2;
      node.vy += oy * force * 2;
      for (const end of [a, b]) {
        end.vx -= ox * force;
        end.vy -= oy * force;
      }
    }
  }
}

function move(node, aspect, heat) {
  if (node.fixed) return Object.assign(node, { x: 0, y: 0, vx: 0, vy: 0 });
  node.vx = (node.vx - (node.x * CENTRE * heat) / aspect) * DRAG;
  node.vy = (node.vy - node.y * CENTRE * heat * aspect) * DRAG;
  node.x += node.vx;
  node.y += node.vy;
}

/** Moves boxes that cover each other apart, the shorter way. Answers whether there were any. */
function part(nodes) {
  let any = false;
  const start = (node) => node.x - node.width / 2;
  const swept = [...nodes].sort((a, b) => start(a) - start(b)); // from left to right: only neighbours can meet
  for (let i = 0; i < swept.length; i++) {
    for (let j = i + 1; j < swept.length; j++) {
      const [a, b] = [swept[i], swept[j]];
      const wide = (a.width + b.width) / 2 + GAP - Math.abs(b.x - a.x);
      const high = (a.height + b.height) / 2 + GAP - Math.abs(b.y - a.y);
      if (start(b) > a.x + a.width / 2 + GAP) break;
      if (wide <= 0 || high <= 0) continue;
      any = true;
      const axis = wide < high ? "x" : "y";
      const step = (Math.min(wide, high) + 0.1) * Math.sign(b[axis] - a[axis] || 1);
      if (!a.fixed) a[axis] -= b.fixed ? step : step / 2;
      if (!b.fixed) b[axis] += a.fixed ? step : step / 2;
    }
  }
  return any;
}
