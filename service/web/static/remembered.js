// Owns what somebody remembers about somebody else, the search in it, and with whom it talked: the lower part of a person's page.

import { api, calm, complain, pressed } from "./api.js";
import { h, setText } from "./dom.js";
import { midTerm } from "./changes.js";
import { factTold, talk } from "./facts.js";
import { $, about, id, link, name, t, when } from "./page.js";
import { listTalks } from "./talks.js";

const PAGE = 50;

let asked = 0;

async function show() {
  const number = ++asked;
  const query = new URLSearchParams({ about: $("about").value, query: $("query").value.trim(), limit: PAGE });
  if ($("history").checked) query.set("history", "true");
  const box = $("memory");
  box.setAttribute("aria-busy", "true");
  const found = await api(`/people/${id}/memory?${query}`);
  if (number !== asked) return;
  box.replaceChildren(h("div", {}, ...[relation(found), mind(found)].filter(Boolean)), h("div", {}, facts(found, query)));
  summarise(found);
  box.setAttribute("aria-busy", "false");
}

function card(title, ...content) {
  return h("section", { class: "card" }, h("h2", {}, title), ...content);
}

function relation({ relation: how, last_meeting: last }) {
  const isListed = $("affinity") !== null; // the page of an NPC tells how it stands to everybody
  const bar = h("meter", { min: -100, max: 100, value: how.affinity, "aria-label": t("affinity_of", { npc: otherName() }) });
  return card(
    t("relation"),
    h("dl", { class: "steps" },
      ...(isListed ? [] : [h("dt", {}, t("affinity_of", { npc: otherName() })), h("dd", {}, h("strong", {}, String(how.affinity)), " ", bar)]),
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
    h("p", { class: "quiet" }, when(last.at), " · ", talk(last.conversation_id, t("source_whole"))),
  ];
}

function facts({ facts: all, next, long_term_available: there }, query) {
  if (!there) return card(t("facts"), h("p", { class: "hint" }, t("long_term_away")));
  if (!all.length) return card(t("facts"), h("p", { class: "quiet" }, t("no_facts")));
  const list = h("ul", { class: "facts" }, all.map(fact));
  follow(list, query, next);
  return card(t("facts"), list);
}

/** The button behind the last fact, while more are remembered. */
function follow(list, query, next) {
  if (!next) return;
  const button = h("button", { type: "button", onclick: () => pressed(button, further) }, t("more"));
  const entry = h("li", { class: "more" }, button);
  async function further() {
    query.set("after", next);
    const page = await api(`/people/${id}/memory?${query}`);
    entry.remove();
    list.append(...page.facts.map(fact));
    follow(list, query, page.next);
  }
  list.append(entry);
}

const fact = (one) => h("li", { class: one.valid_to ? "past" : "" }, factTold(one));

function mind({ mid_term: all }) {
  return all.length ? card(t("on_mind"), h("ul", {}, all.map(midTerm))) : null;
}

/** What its talks since it slept were about stands in their list; that of the last meeting stands above. */
function summarise({ today, last_meeting: last }) {
  for (const { conversation_id, summary } of today) {
    const row = $("conversations").querySelector(`[data-talk="${conversation_id}"] .quiet`);
    if (row && conversation_id !== last?.conversation_id) setText(row, summary);
  }
}

const otherName = () => $("about").selectedOptions[0]?.textContent ?? "";

/** Without anybody in the address: whom the person talked with last. */
export async function begin() {
  const last = await listTalks($("conversations"), id);
  const other = about ?? (last && (last.character_id === id ? last.partner_id : last.character_id));
  if (other) $("about").value = other;
  await show();
}

$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  pressed(event.submitter ?? $("search").querySelector("button"), show);
});
$("history").addEventListener("change", () => show().then(calm, complain));
$("about").addEventListener("change", () => {
  history.replaceState(null, "", link(location.pathname, { about: $("about").value }));
  show().then(calm, complain);
});
