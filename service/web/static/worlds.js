// Owns the page of the worlds: each with its time and how it goes, kept as they are.

import { api, complain, pressed } from "./api.js";
import { badge, h } from "./dom.js";
import { $, lang, link, t, when } from "./page.js";

const EVERY_MS = 5000;
const PAGE = 50;

const tongues = new Intl.DisplayNames(lang, { type: "language" });

let shown = "";
let pages = 1;

/** The first pages, one after the other. */
async function read() {
  const all = [];
  let next = "";
  for (let page = 0; page < pages && next !== null; page++) {
    const told = await api(`/worlds?limit=${PAGE}${next && `&after=${next}`}`);
    all.push(...told.items);
    next = told.next;
  }
  const words = JSON.stringify([all, next]);
  if (words === shown) return;
  shown = words;
  const more = h("button", { type: "button", onclick: () => pressed(more, further) }, t("more"));
  const rows = all.length ? all.map(row) : [h("li", { class: "quiet" }, t("no_worlds"), " ", entrance("main", t("enter_main")))];
  $("worlds").replaceChildren(...rows, ...(next === null ? [] : [h("li", { class: "more" }, more)]));
}

async function further() {
  pages += 1;
  await read();
}

const entrance = (id, ...text) => h("a", { href: link("/", { world_id: id }) }, ...text);

function row({ id, name, language, now, state, characters, npcs, conversations, conversations_running: running }) {
  const counts = t("world_counts", { characters, npcs, conversations });
  return h("li", {},
    entrance(id, h("strong", {}, id), h("span", { class: "quiet" }, `${name} · ${tongues.of(language)} · ${counts}`)),
    h("span", { class: "aside" },
      h("span", { class: "badges" },
        running > 0 && badge(t("talks_running", { count: running }), "live"),
        badge(t(`state_${state}`), { running: "live", moving: "live", stopped: "warn" }[state])),
      h("time", {}, when(now))));
}

async function again() {
  if (!document.hidden) await read().catch(complain);
  setTimeout(again, EVERY_MS);
}

again();
