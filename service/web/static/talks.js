// Owns how conversations are listed, newest first, and how the older ones follow.

import { api, pressed } from "./api.js";
import { badge, h } from "./dom.js";
import { link, t, when } from "./page.js";

/** A conversation's entry in a list. */
export function talkRow(one) {
  return h(
    "li", { "data-talk": one.id },
    h("a", { href: link(`/view/conversations/${one.id}`) },
      h("strong", {}, t("with", { character: one.character_name, npc: one.partner_name })),
      h("span", { class: "quiet" }, one.goal?.goal ?? "")),
    h("span", { class: "aside" }, badge(t(`phase_${one.phase}`), one.phase), h("time", {}, when(one.started_at))),
  );
}

/** Fills `list` with a person's conversations, and answers the newest of them, if there is one. */
export async function listTalks(list, personId) {
  const page = await api(`/conversations?person_id=${personId}&limit=${PAGE}`);
  list.replaceChildren(...(page.items.length ? page.items.map(talkRow) : [h("li", { class: "quiet" }, t("nothing"))]));
  follow(list, personId, page.next);
  return page.items[0];
}

const PAGE = 8;

/** The button behind the last entry, while there are older ones. */
function follow(list, personId, next) {
  if (!next) return;
  const button = h("button", { type: "button", onclick: () => pressed(button, older) }, t("older"));
  const entry = h("li", { class: "more" }, button);
  async function older() {
    const page = await api(`/conversations?person_id=${personId}&limit=${PAGE}&after=${next}`);
    entry.remove();
    list.append(...page.items.map(talkRow));
    follow(list, personId, page.next);
  }
  list.append(entry);
}
