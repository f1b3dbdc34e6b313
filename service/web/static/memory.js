// Owns the character page: how it lives now, what it remembers about somebody, and the search in it.

import { api, calm, complain, pressed } from "./api.js";
import { badge, h } from "./dom.js";
import { midTerm } from "./changes.js";
import { factTold, talk } from "./facts.js";
import { life } from "./life.js";
import { $, id, link, name, npc, places, t, when } from "./page.js";

const EVERY_MS = 3000;

let asked = 0;
let shownLife = "";

/** How it lives, again and again; while the service is away, the last that was known. */
async function live() {
  const one = document.hidden ? null : await api(`/characters/${id}`).catch(() => null);
  const words = JSON.stringify(one);
  if (one && words !== shownLife) {
    const open = $("life").querySelector("details")?.open;
    shownLife = words;
    $("life").replaceChildren(...life(one, places));
    if (open) $("life").querySelector("details").open = true;
  }
  setTimeout(live, EVERY_MS);
}

async function show() {
  const number = ++asked;
  const query = new URLSearchParams({ npc_id: $("npc").value, query: $("query").value.trim(), limit: 50 });
  if ($("history").checked) query.set("history", "true");
  const box = $("memory");
  box.setAttribute("aria-busy", "true");
  const found = await api(`/characters/${id}/memory?${query}`);
  if (number !== asked) return;
  box.replaceChildren(h("div", {}, relation(found), mind(found), today(found)), h("div", {}, facts(found)));
  box.setAttribute("aria-busy", "false");
}

function card(title, ...content) {
  return h("section", { class: "card" }, h("h2", {}, title), ...content);
}

function relation({ relation: how, last_meeting: last }) {
  const bar = h("meter", { min: -100, max: 100, value: how.affinity, "aria-label": t("affinity_of", { npc: npcName() }) });
  return card(
    t("relation"),
    h("dl", { class: "steps" },
      h("dt", {}, t("affinity_of", { npc: npcName() })), h("dd", {}, h("strong", {}, String(how.affinity)), " ", bar),
      h("dt", {}, t("times_met")), h("dd", {}, t("times", { count: how.conversation_count })),
      h("dt", {}, t("last_met")), h("dd", {}, last ? h("strong", { class: "ago" }, last.ago) : t("never")),
      ...(how.stance ? [h("dt", {}, t("stance_of", { character: name })), h("dd", {}, how.stance)] : [])),
    ...(last ? lastMeeting(last) : []),
  );
}

function lastMeeting(last) {
  return [
    h("h3", {}, t("last_meeting")),
    h("p", { class: "summary" }, last.summary),
    h("p", { class: "badges" }, last.topics.map((topic) => badge(topic))),
    h("p", { class: "quiet" }, when(last.at), " · ", talk(last.conversation_id, t("source_whole"))),
  ];
}

function facts({ facts: all, long_term_available: there }) {
  if (!there) return card(t("facts"), h("p", { class: "hint" }, t("long_term_away")));
  if (!all.length) return card(t("facts"), h("p", { class: "quiet" }, t("no_facts")));
  return card(t("facts"), h("ul", { class: "facts" }, all.map(fact)));
}

const fact = (one) => h("li", { class: one.invalid_at ? "past" : "" }, factTold(one));

function mind({ mid_term: all }) {
  return card(t("on_mind"), all.length ? h("ul", {}, all.map(midTerm)) : h("p", { class: "quiet" }, t("nothing")));
}

function today({ today: all }) {
  const one = ({ conversation_id, npc_name, summary, at }) =>
    h("li", {}, h("strong", {}, npc_name), h("p", {}, summary), h("p", { class: "quiet" }, when(at), " · ", talk(conversation_id, t("source_whole"))));
  return card(t("today"), all.length ? h("ul", { class: "facts" }, all.map(one)) : h("p", { class: "quiet" }, t("nothing")));
}

const npcName = () => $("npc").selectedOptions[0]?.textContent ?? "";

/** Without anybody in the address: whom the character talked with last. */
async function begin() {
  let about = npc;
  if (!about) {
    const [began, joined] = await Promise.all(
      ["character_id", "npc_id"].map((as) => api(`/conversations?${as}=${id}&limit=1`)),
    );
    const [last] = [...began.items, ...joined.items].sort((a, b) => b.started_at.localeCompare(a.started_at));
    about = last && (last.character_id === id ? last.npc_id : last.character_id);
  }
  if (about) $("npc").value = about;
  await show();
}

$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  pressed(event.submitter ?? $("search").querySelector("button"), show);
});
$("history").addEventListener("change", () => show().then(calm, complain));
$("npc").addEventListener("change", () => {
  history.replaceState(null, "", link(location.pathname, { npc_id: $("npc").value }));
  show().then(calm, complain);
});
live();
begin().catch(complain);
