// Owns how a remembered fact is told: what it says, how long it held, and where it was heard.

import { badge, h } from "./dom.js";
import { dayOf, link, t } from "./page.js";

/** The inside of a fact's entry. `ago` is left out where it is not known. */
export function factTold({ statement, valid_at, invalid_at, ago, conversation_id, turn }) {
  const holds = invalid_at
    ? t("held", { start: dayOf(valid_at), end: dayOf(invalid_at) })
    : t("holds_since", { time: dayOf(valid_at) });
  const where = turn === null ? t("source_whole") : t("source", { turn: t("turn", { count: turn }) });
  return [
    invalid_at ? h("s", {}, statement) : h("span", {}, statement),
    h("p", { class: "quiet" }, ago && [h("strong", { class: "ago" }, ago), " · "], holds, " · ", talk(conversation_id, where, turn), " ",
      invalid_at && badge(t("no_longer"), "warn")),
  ];
}

/** A link to a conversation, or to one turn of it. */
export function talk(conversationId, text, turn = null) {
  return h("a", { href: link(`/view/conversations/${conversationId}${turn === null ? "" : `#turn-${turn}`}`) }, text);
}
