// Owns the page of an NPC: its mood, how it stands to each, what it has told of itself, and below what it remembers.

import { api, complain } from "./api.js";
import { badge, h } from "./dom.js";
import { factTold } from "./facts.js";
import { $, data, id, link, t } from "./page.js";
import { meeting } from "./player.js";
import { portrait } from "./faces.js";
import { begin } from "./remembered.js";

const EVERY_MS = 3000;

let shown = "";

/** How it is, again and again; while the service is away, the last that was known. */
async function live() {
  const one = document.hidden ? null : await api(`/npcs/${id}`).catch(() => null);
  const words = JSON.stringify(one);
  if (one && words !== shown) show(one);
  if (one) shown = words;
  setTimeout(live, EVERY_MS);
}

function show({ mood, talking_in: talk, affinity, learned_facts: learned, conversation_count: count }) {
  const look = { happy: "good", moved: "good", angry: "warn", afraid: "warn" }[mood] ?? "";
  $("mood").replaceChildren(
    badge(t("mood_is", { mood: t(`mood_${mood}`) }), look),
    badge(t("talked", { count })),
    ...(talk ? [h("a", { class: "badge live", href: link(`/view/conversations/${talk}`) }, t("talking"))] : []),
  );
  fill($("affinity"), Object.entries(affinity).sort(([, a], [, b]) => b - a).map(standing));
  fill($("learned"), learned.map((fact) => h("li", { class: fact.valid_to ? "past" : "" }, factTold(fact))));
}

function fill(list, items) {
  list.replaceChildren(...(items.length ? items : [h("li", { class: "quiet" }, t("nothing_yet"))]));
}

function standing([otherId, level]) {
  const other = data.names[otherId] ?? otherId;
  const kind = data.kinds[otherId];
  const isPlayer = kind === "player"; // of whom there is no page
  return h("li", {},
    isPlayer ? h("span", {}, other) : h("a", { href: link(`/view/${kind}s/${otherId}`, { about: id }) }, other),
    h("meter", { min: -100, max: 100, value: level, "aria-label": t("affinity_to", { name: other }) }),
    h("strong", {}, level > 0 ? `+${level}` : String(level)));
}

$("portrait").src = portrait(id);
live();
meeting();
begin().catch(complain);
