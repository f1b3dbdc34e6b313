// Owns how a remembered fact is told: what it says, how long it held, and where it was heard.

import { badge, h } from "./dom.js";
import { dayOf, link, t } from "./page.js";

/** The inside of a memory's entry: as its owner is told of it, with who told it. */
export function factTold({ line, valid_from, valid_to, conversation_id, turns }) {
  const [turn = null] = turns;
  const holds = valid_to
    ? t("held", { start: dayOf(valid_from), end: dayOf(valid_to) })
    : t("holds_since", { time: dayOf(valid_from) });
  const where = turn === null ? t("source_whole") : t("source", { turn: t("turn", { count: turn }) });
  return [
    valid_to ? h("s", {}, line) : h("span", {}, line),
    h("p", { class: "quiet" }, holds, conversation_id && [" · ", talk(conversation_id, where, turn)], " ",
      valid_to && badge(t("no_longer"), "warn")),
  ];
}

/** A link to a conversation, or to one turn of it. */
export function talk(conversationId, text, turn = null) {
  return h("a", { href: link(`/view/conversations/${conversationId}${turn === null ? "" : `#turn-${turn}`}`) }, text);
}
