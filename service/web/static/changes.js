// Owns how the changes of a closed conversation are shown, and what went wrong in it.

import { badge, h } from "./dom.js";
import { has, link, t, when } from "./page.js";

/** What went wrong, if anything did. */
export function failure({ failure }) {
  if (!failure) return [];
  return [h("div", { class: "hint" }, h("h2", {}, t("failure")), h("p", {}, failure.detail))];
}

/** All that the conversation changed. */
export function changes({ changes: made, character_id, character_name, character_kind, npc_id, npc_name, partner_kind }) {
  const played = character_kind === "player"; // what a human takes away is its own affair
  const both = partner_kind === "character";
  const names = { character: character_name, npc: npc_name };
  const title = h("h2", {}, t("changes"));
  if (!made) return [title, h("p", { class: "quiet" }, t("changes_none"))];
  return [
    title,
    h("p", { class: "summary" }, made.summary),
    h("p", { class: "badges" }, made.topics.map((topic) => badge(topic))),
    h("dl", { class: "steps" },
      h("dt", {}, t("affinity_of", names)), h("dd", { class: "affinity" }, ...step(made.affinity)),
      ...(both ? [] : [h("dt", {}, t("mood_of", names)), h("dd", {}, ...moods(made.mood))]),
      ...(played ? [] : [h("dt", {}, t("stance_of", names)), h("dd", {}, made.stance || "—")])),
    ...(played ? [] : list(t("memories", names), made.facts.map(fact))),
    ...(both ? [] : list(t("learned", names), made.learned_facts.map(learned))),
    ...(played ? [] : list(t("mid_term", names), made.mid_term.map(midTerm))),
    ...list(t("rejected", names), made.rejected.map(rejected)),
    ...(played ? [] : [memoryLink(character_id, npc_id, names)]),
    ...(made.partner ? others(made.partner, npc_id, character_id, { character: npc_name, npc: character_name }, both, played) : []),
  ];
}

/** Each remembers for itself: what stays with the one that was spoken to, `names.character` here. */
function others(made, ownId, otherId, names, both, played) {
  return [
    h("h2", {}, t("remembers_too", { npc: names.character })),
    h("dl", { class: "steps" },
      ...(played ? [] : [h("dt", {}, t("affinity_of", names)), h("dd", {}, ...step(made.affinity))]),
      h("dt", {}, t("stance_of", names)), h("dd", {}, made.stance || "—")),
    ...list(t("memories", names), made.facts.map(fact)),
    ...list(t("mid_term", names), made.mid_term.map(midTerm)),
    ...list(t("rejected", names), made.rejected.map(rejected)),
    memoryLink(ownId, otherId, names, both ? "characters" : "npcs"),
  ];
}

const memoryLink = (ownId, otherId, names, kind = "characters") =>
  h("p", {}, h("a", { class: "button", href: link(`/view/${kind}/${ownId}`, { about: otherId }) }, t("see_memory", names)));

/** Something on the mind for the next days, and until when. */
export function midTerm({ content, importance, expires_at }) {
  return h("li", {}, content, " ", badge(t(`importance_${importance}`), importance),
    h("span", { class: "quiet" }, ` ${t("until", { time: when(expires_at) })}`));
}

function step({ before, after }) {
  const moved = after - before;
  const sign = moved > 0 ? "+" : "";
  return [`${before} → `, h("strong", {}, String(after)), " ", badge(`${sign}${moved}`, moved > 0 ? "good" : moved < 0 ? "warn" : "")];
}

function moods({ before, after }) {
  return before === after ? [t(`mood_${after}`)] : [`${t(`mood_${before}`)} → `, h("strong", {}, t(`mood_${after}`))];
}

function list(title, items) {
  const shown = items.length ? h("ul", {}, items) : h("p", { class: "quiet" }, t("nothing"));
  return [h("h3", {}, title), shown];
}

const cite = (turn) => h("a", { class: "cite", href: `#turn-${turn}` }, t("turn", { count: turn }));

const learned = ({ statement, turn }) => h("li", {}, statement, " ", cite(turn));

/** What it was told, with who told it. */
const fact = ({ line, turn }) => h("li", {}, line, " ", cite(turn));

function rejected({ statement, turn, reason }) {
  const key = `reason_${reason}`;
  return h("li", {}, h("s", {}, statement), " ", turn !== null && cite(turn),
    h("span", { class: "quiet" }, ` ${has(key) ? t(key) : reason}`));
}
