// Owns where people are at any moment: the ways between nodes, and each person's walks and stays along them. Pure: no
// element, no clock, no request. Times are world minutes (see `minuteOf`).

/** A world time as a number of minutes. World times have no zone: they are read as if all were UTC. */
export const minuteOf = (iso) => Date.parse(`${iso}Z`) / 60000;

/** The world time of such a number, to the minute. */
export const isoOf = (minute) => new Date(Math.floor(minute) * 60000).toISOString().slice(0, 16);

/** The shortest ways of a map as `GET /world/map` tells it: a function (from, to) -> {nodes, minutes}, null: no way. */
export function waysOf({ nodes, edges }) {
  const closed = new Set(nodes.filter((node) => node.closed).map((node) => node.id));
  const beside = new Map(nodes.map((node) => [node.id, []]));
  for (const { a, b, minutes } of edges) {
    beside.get(a)?.push([b, minutes]);
    beside.get(b)?.push([a, minutes]);
  }
  const known = new Map();
  return (from, to) => {
    const key = `${from} ${to}`;
    if (!known.has(key)) known.set(key, shortest(beside, closed, from, to));
    return known.get(key);
  };
}

/** Dijkstra's algorithm with a bucket a minute, for every edge takes whole minutes. Nobody walks over a closed node. */
function shortest(beside, closed, from, to) {
  const came = new Map([[from, null]]);
  const reached = new Map([[from, 0]]);
  const done = new Set();
  const buckets = [[from]];
  for (let minute = 0; minute < buckets.length; minute++) {
    for (const node of buckets[minute] ?? []) {
      if (done.has(node)) continue;
      done.add(node);
      if (node === to) return wayTo(to, came, reached);
      for (const [next, minutes] of beside.get(node) ?? []) {
        const later = minute + minutes;
        if (later >= (reached.get(next) ?? Infinity) || (closed.has(next) && next !== to)) continue;
        reached.set(next, later);
        came.set(next, node);
        (buckets[later] ??= []).push(next);
      }
    }
  }
  return null;
}

function wayTo(to, came, reached) {
  const nodes = [];
  for (let node = to; node !== null; node = came.get(node)) nodes.unshift(node);
  return { nodes, minutes: nodes.map((node) => reached.get(node)) };
}

/** A stay on a node from a moment on. */
export const stay = (node, since) => ({ nodes: [node], times: [since] });

/** A walk that leaves `from` and arrives at `to` at these moments; where no way is known, straight from one to the other. */
export function walk(way, from, to, departs, arrives) {
  const { nodes, minutes } = way(from, to) ?? { nodes: [from, to], minutes: [0, 1] };
  const all = minutes.at(-1) || 1;
  return { nodes, times: minutes.map((minute) => departs + (minute / all) * (arrives - departs)) };
}

/** What a position of `GET /world/people` at the moment `at` says of the walk it is on, or of the stay. */
export function legOf(way, position, at) {
  const { node_id: node, toward, progress, walking_to: goal, arrives_at: arrives } = position;
  if (!goal) return stay(node, at);
  const rest = toward === goal ? { nodes: [goal], minutes: [0] } : way(toward, goal) ?? { nodes: [toward, goal], minutes: [0, 1] };
  const [edge, end] = [way(node, toward)?.minutes.at(-1) ?? 1, minuteOf(arrives)];
  const left = edge * (1 - progress) + rest.minutes.at(-1);
  const pace = left > 0 ? (end - at) / left : 1;
  const departs = at - edge * progress * pace;
  return { nodes: [node, ...rest.nodes], times: [departs, ...rest.minutes.map((minute) => departs + (edge + minute) * pace)] };
}

const starts = (leg) => leg.times[0];
const ends = (leg) => leg.times.at(-1);
const goal = (leg) => leg.nodes.at(-1);

/** Adds what came next to somebody's legs. Who is called away on the way has stopped at the node where the next begins. */
export function follow(legs, next) {
  while (legs.length && starts(legs.at(-1)) >= starts(next)) legs.pop();
  const last = legs.at(-1);
  if (last && ends(last) > starts(next)) {
    const reached = last.nodes.lastIndexOf(next.nodes[0]);
    if (reached >= 0 && last.times[reached] <= starts(next)) {
      legs[legs.length - 1] = { nodes: last.nodes.slice(0, reached + 1), times: last.times.slice(0, reached + 1) };
    }
  }
  legs.push(next);
}

/** Adds what a position says where it is news: who is seen where the legs have it has done nothing else. */
export function correct(legs, way, position, at) {
  const last = legs.at(-1);
  const isKnown = last && (position.walking_to
    ? goal(last) === position.walking_to && ends(last) === minuteOf(position.arrives_at)
    : goal(last) === position.node_id && ends(last) <= at);
  if (!isKnown) follow(legs, legOf(way, position, at));
}

/** Where the legs have somebody then: on `node`, or `part` (0 up to 1) of the way `toward` the next one. */
export function spotAt(legs, at) {
  let index = legs.length - 1;
  while (index > 0 && starts(legs[index]) > at) index--;
  const { nodes, times } = legs[index];
  let reached = times.length - 1;
  while (reached > 0 && times[reached] > at) reached--;
  if (reached === nodes.length - 1 || at < times[0]) return { node: nodes[reached], toward: null, part: 0 };
  return { node: nodes[reached], toward: nodes[reached + 1], part: (at - times[reached]) / (times[reached + 1] - times[reached]) };
}

/** The next moment after `at` at which somebody begins to walk; Infinity: nobody does. */
export function nextStart(everybody, at) {
  let next = Infinity;
  for (const legs of everybody) {
    for (const leg of legs) if (leg.nodes.length > 1 && starts(leg) > at) next = Math.min(next, starts(leg));
  }
  return next;
}

/**
 * The moment that is shown while the world goes on: it follows what is known of the world, never ahead of it, and comes
 * there `overMs` of real time after it was heard.
 */
export class Following {
  constructor(at) {
    Object.assign(this, { from: at, until: at, rate: 0, heardMs: 0 });
  }

  /** The world is at `now`, as heard at that real time. A jump back, or over days, is not walked through. */
  hear(now, heardMs, overMs) {
    const shown = this.at(heardMs);
    const isJump = now < shown || now - shown > 3 * 1440;
    Object.assign(this, { from: isJump ? now : shown, until: now, heardMs });
    this.rate = isJump || overMs <= 0 ? Infinity : (now - shown) / overMs;
  }

  at(realMs) {
    if (this.from === this.until || this.rate === Infinity) return this.until;
    return Math.min(this.until, this.from + this.rate * (realMs - this.heardMs));
  }
}
