// Owns the page of the worlds: the tree of their branches, each with its time, how it goes and what was kept of it.

import { api, complain, pressed, request } from "./api.js";
import { ask } from "./ask.js";
import { offer } from "./compare.js";
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
  draw(all, next);
}

function draw(all, next) {
  const more = h("button", { type: "button", onclick: () => pressed(more, further) }, t("more"));
  const here = new Set(all.map(({ id }) => id));
  const below = (parent) => all.filter((one) => (here.has(one.branched_from) ? one.branched_from : null) === parent);
  const tree = (one) => row(one, below(one.id).map(tree));
  const focused = document.activeElement?.dataset.does;
  const rows = all.length ? below(null).map(tree) : [h("li", { class: "quiet" }, t("no_worlds"), " ", entrance("main", t("enter_main")))];
  $("worlds").replaceChildren(...rows, ...(next === null ? [] : [h("li", { class: "more" }, more)]));
  if (focused) $("worlds").querySelector(`[data-does="${focused}"]`)?.focus();
  offer([...here]);
}

async function further() {
  pages += 1;
  await read();
}

const entrance = (id, ...text) => h("a", { href: link("/", { world_id: id }) }, ...text);

function row(one, branches) {
  const { id, name, language, now, state, characters, npcs, conversations, conversations_running: running } = one;
  const counts = t("world_counts", { characters, npcs, conversations });
  return h("li", { id: `world-${id}` },
    h("div", { class: "entry" },
      entrance(id, h("strong", {}, id), h("span", { class: "quiet" }, `${name} · ${tongues.of(language)} · ${counts}`)),
      h("span", { class: "aside" },
        h("span", { class: "badges" },
          running > 0 && badge(t("talks_running", { count: running }), "live"),
          badge(t(`state_${state}`), { running: "live", moving: "live", stopped: "warn" }[state])),
        h("time", {}, when(now)))),
    one.branched_from && h("p", { class: "quiet" }, t("branched", { world: one.branched_from, time: when(one.branched_at) })),
    h("div", { class: "buttons" },
      button(id, "keep", "", () => keep(id)),
      button(id, "branch", "", () => branch(id))),
    one.snapshots.length > 0 && h("ul", { class: "saves", "aria-label": t("saves_of", { world: id }) }, one.snapshots.map((save) => saved(id, save))),
    branches.length > 0 && h("ul", { class: "branches", "aria-label": t("branches_of", { world: id }) }, branches));
}

function saved(id, { name, at, automatic }) {
  return h("li", {},
    h("span", {}, h("strong", {}, name), " ", h("time", {}, when(at)), " ", automatic && badge(t("kept_by_itself"))),
    h("span", { class: "buttons" },
      button(id, "restore", name, () => restore(id, name, at)),
      button(id, "branch", name, () => branch(id, name))));
}

/** A button that does something with a world or a save of it; `name` is the save's. */
function button(id, what, name, work) {
  const of = h("button", {
    type: "button",
    "data-does": [what, id, name].join(" "),
    "aria-label": `${t(what)}: ${id} ${name}`.trim(),
    onclick: () => pressed(of, () => work().then(read)),
  }, t(what));
  return of;
}

const sent = (id, path, body) => request(path, { method: "POST", body, headers: { "X-World-Id": id } });

async function keep(id) {
  const name = await ask(t("keep_title", { world: id }), t("keep_what"), "before-the-festival");
  if (name) await sent(id, "/world/snapshots", { name });
}

async function branch(id, snapshot) {
  const to = await ask(t("branch_title", { world: id }), snapshot ? t("branch_of_save", { name: snapshot }) : t("branch_now"), "what-if");
  if (to) await sent(id, "/world/branch", { to_world: to, snapshot });
}

async function restore(id, name, at) {
  const sure = await ask(t("restore_title", { world: id }), t("restore_what", { name, time: when(at) }));
  if (sure !== null) await sent(id, "/world/restore", { name });
}

async function again() {
  if (!document.hidden) await read().catch(complain);
  setTimeout(again, EVERY_MS);
}

again();
