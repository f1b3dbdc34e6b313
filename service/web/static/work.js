// Owns the page of the work that the service does by itself: what waits, since when, and why it failed.

import { api, complain, pressed, request } from "./api.js";
import { badge, h } from "./dom.js";
import { $, lang, t } from "./page.js";

const EVERY_MS = 5000;

const machine = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });
const at = (iso) => machine.format(new Date(iso));

let shown = "";

async function read() {
  const { items } = await api("/work");
  const words = JSON.stringify(items);
  if (words === shown) return;
  shown = words;
  const focused = document.activeElement?.dataset.does;
  $("work").replaceChildren(...(items.length ? items.map(row) : [h("li", { class: "quiet" }, t("no_work"))]));
  if (focused) [...$("work").querySelectorAll("button")].find(({ dataset }) => dataset.does === focused)?.focus();
}

function row(one) {
  const { world_id: world, kind, key, state, since, next_try_at: next, tries, last_error: error } = one;
  return h("li", {},
    h("span", {}, h("strong", {}, t(`work_of_${kind}`)), " ", h("span", { class: "quiet" }, `${world} · ${key}`),
      error && h("p", {}, t("work_failed", { tries, error }))),
    h("span", { class: "aside" },
      h("span", { class: "badges" }, badge(t(`work_${state}`), { running: "live", cancelled: "warn" }[state])),
      h("time", {}, t("work_since", { time: at(since) })),
      next && error && h("time", {}, t("work_next", { time: at(next) })),
      h("span", { class: "buttons" }, button(one, "again"), state !== "cancelled" && button(one, "cancel"))));
}

function button({ world_id: world, kind, key }, what) {
  const of = h("button", {
    type: "button",
    "data-does": [what, world, kind, key].join(" "),
    "aria-label": `${t(`work_${what}`)}: ${t(`work_of_${kind}`)} ${key}`,
    onclick: () => pressed(of, () => tell().then(read)),
  }, t(`work_${what}`));
  const tell = () => request(`/work/${kind}/${encodeURIComponent(key)}`, { method: "POST", body: { do: what }, headers: { "X-World-Id": world } });
  return of;
}

async function again() {
  if (!document.hidden) await read().catch(complain);
  setTimeout(again, EVERY_MS);
}

again();
