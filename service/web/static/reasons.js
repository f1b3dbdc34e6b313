// Owns why a turn was said or thought, shown beside it when somebody wants to know.

import { api, complain } from "./api.js";
import { h } from "./dom.js";
import { link, t } from "./page.js";

const TALK = /\b([0-9a-f]{28})\b/; // the id of a conversation: split by it, every second part is one

const linked = (part, index) => (index % 2 ? h("a", { href: link(`/view/conversations/${part}`), "aria-label": t("source_whole") }, "↗") : part);

/** Why, in words, and what its speaker was sent where that is kept; `path` is the conversation's. */
export function reasons(path, turn) {
  const told = h("div", {});
  const box = h("details", { class: "why" }, h("summary", {}, t("why")), told);
  box.addEventListener("toggle", async () => {
    if (!box.open || told.hasChildNodes()) return;
    try {
      const { words, messages } = await api(`${path}/turns/${turn}/why`);
      const sent = (messages ?? []).flatMap((m) => [h("h3", {}, t(`message_${m.role}`)), h("pre", {}, m.content)]);
      told.replaceChildren(...words.map((sentence) => h("p", {}, sentence.split(TALK).map(linked))), ...sent);
    } catch (error) {
      complain(error);
    }
  });
  return box;
}
