// Owns the bar back through the day that has been: what is shown of the past is replayed on the page out of the event
// log, and the world itself stays where it is.

import { api, complain } from "./api.js";
import { setText } from "./dom.js";
import { $, t, when } from "./page.js";
import { correct, follow, isoOf, minuteOf, walk } from "./walk.js";
import { hearOf, listen } from "./words.js";

const BACK = 1440; // world minutes
const PAGES = 8; // of a thousand walks
const TALKS = 3; // pages of two hundred

export class Past {
  /** `way`: the shortest ways; `changed` is told when something else is to be shown; `live()` is what the world is now. */
  constructor({ way, live, changed }) {
    Object.assign(this, { way, live, changed, at: null, legs: new Map(), playing: null });
    $("bar").addEventListener("input", () => this.goTo(Number($("bar").value)).catch(complain));
    $("replay").addEventListener("click", () => this.play().catch(complain));
    $("back-to-now").addEventListener("click", () => this.leave());
  }

  /** Whether the past is shown, not the present. */
  get isShown() {
    return this.at !== null;
  }

  /** The world goes on: the bar becomes longer, unless somebody looks back. */
  hear({ now, started_at: started }) {
    if (this.isShown) return;
    $("bar").disabled = $("replay").disabled = false;
    const until = minuteOf(now);
    Object.assign($("bar"), { min: Math.max(minuteOf(started), until - BACK), max: until, value: until });
    this.tell(until);
  }

  async goTo(minute) {
    this.playing = null;
    if (!this.isShown) {
      this.at = minute;
      await (this.loading = this.read());
    }
    this.at = minute;
    this.show();
    if (await listen(minute)) this.changed();
  }

  /** From where the bar is, or from its beginning, up to now; pressed again it rests. */
  async play() {
    if (this.playing) {
      this.at = this.now(performance.now());
      this.playing = null;
      return this.show();
    }
    const isAtEnd = Number($("bar").value) >= Number($("bar").max);
    await this.goTo(isAtEnd ? Number($("bar").min) : Number($("bar").value));
    this.playing = { from: this.at, ms: performance.now(), rate: Number($("pace").value) / 1000 };
    this.show();
    while (this.playing) {
      if (await listen(this.now(performance.now()) + 4)) this.changed();
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
  }

  leave() {
    Object.assign(this, { at: null, playing: null });
    $("bar").value = $("bar").max;
    this.hear(this.live());
    this.show();
  }

  now(ms) {
    if (!this.playing) return this.at;
    return Math.min(Number($("bar").max), this.playing.from + (ms - this.playing.ms) * this.playing.rate);
  }

  isMoving() {
    return Boolean(this.playing);
  }

  /** What the map shows now; at its end the replay has come to the present. */
  shown(at) {
    if (!this.isShown) return;
    if (this.playing) {
      this.at = at;
      $("bar").value = at;
      if (at >= Number($("bar").max)) return this.leave();
    }
    this.tell(at);
  }

  show() {
    setText($("replay"), t(this.playing ? "pause" : "replay"));
    $("back-to-now").hidden = !this.isShown;
    document.body.classList.toggle("past", this.isShown);
    this.tell(this.at ?? Number($("bar").max));
    this.changed();
  }

  tell(minute) {
    const words = when(isoOf(minute));
    setText($("bar-time"), words);
    if ($("bar").getAttribute("aria-valuetext") !== words) $("bar").setAttribute("aria-valuetext", words);
  }

  /** Where everybody was when the bar begins, each walk since then, and the talks of that time. */
  async read() {
    const departures = [];
    let since = Number($("bar").min);
    let query = new URLSearchParams({ kind: "departed", since: isoOf(since), order: "desc", limit: 1000 });
    for (let page = 0; query && page < PAGES; page++) {
      const { items, next } = await api(`/world/events?${query}`);
      departures.unshift(...items.reverse());
      if (next) query.set("after", next);
      else query = null;
    }
    if (query) since = minuteOf(departures[0].at); // more has happened than is replayed: the bar begins later
    $("bar").min = since;
    const [{ people }] = await Promise.all([api(`/world/people?at=${isoOf(since)}`), this.readTalks(since)]);
    this.legs = new Map();
    for (const { id, position } of people) if (position) correct(this.legsOf(id), this.way, position, since);
    for (const { at, person_id: id, data } of departures) {
      follow(this.legsOf(id), walk(this.way, data.from_node_id, data.to_node_id, minuteOf(at), minuteOf(data.arrives_at)));
    }
  }

  async readTalks(since) {
    let after = "";
    for (let page = 0; page < TALKS && after !== null; page++) {
      const { items, next } = await api(`/conversations?limit=200${after && `&after=${after}`}`);
      const own = items.filter((one) => minuteOf(one.started_at) >= since - 60);
      hearOf(own);
      after = own.length === items.length ? next : null;
    }
  }

  legsOf(id) {
    if (!this.legs.has(id)) this.legs.set(id, []);
    return this.legs.get(id);
  }
}
