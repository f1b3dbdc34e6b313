// Owns the card beside the map: who is looked at, how it is and what it does, and the talk it is in.

import { api } from "./api.js";
import { badge, h } from "./dom.js";
import { face } from "./faces.js";
import { bars, doing } from "./life.js";
import { $, link, t } from "./page.js";
import { turnsOf } from "./words.js";

const HEARD = 4; // lines of the talk
const CROWD = "crowd"; // is shown

let shown = "";

/** Shows somebody as the API tells of it now; `isFollowed`, and what is told when that is to change. */
export async function showWatched(person, { at, placeOf, isFollowed, isPast, onFollow, onClose }) {
  const box = $("watched");
  if (!person) return shown === CROWD ? undefined : hide();
  const kind = { character: "characters", npc: "npcs" }[person.kind];
  const life = kind && !isPast ? await api(`/${kind}/${person.id}`).catch(() => null) : null;
  const lines = person.talking_in && !isPast ? turnsOf(person.talking_in, at).slice(-HEARD) : [];
  const words = JSON.stringify([person, life, lines.length, isFollowed, isPast]);
  if (words === shown && !box.hidden) return;
  const hadFocus = box.contains(document.activeElement) && document.activeElement.id;
  shown = words;
  const where = placeOf(person);
  box.replaceChildren(...[
    h("button", { type: "button", class: "close", "aria-label": t("dismiss"), onclick: onClose }, "×"),
    h("header", {}, face(person.id, person.kind),
      h("div", {}, h("h3", {}, person.name), h("p", { class: "quiet" }, where))),
    life && h("p", { class: "badges" },
      badge(t("mood_is", { mood: t(`mood_${life.mood}`) }), { happy: "good", moved: "good", angry: "warn", afraid: "warn" }[life.mood] ?? ""),
      person.kind === "character" && badge(doing(person.activity))),
    life?.thought && h("p", { class: "thought" }, life.thought),
    life?.needs?.length > 0 && bars(life.needs),
    lines.length > 0 && h("ol", { class: "heard" }, lines.map(heard)),
    h("div", { class: "buttons" },
      h("button", { type: "button", id: "follow", "aria-pressed": String(isFollowed), onclick: onFollow }, t("follow")),
      person.talking_in && !isPast && h("a", { class: "button", href: link(`/view/conversations/${person.talking_in}`) }, t("listen")),
      kind && !isPast && h("a", { class: "button", href: link(person.talking_in ? `/view/conversations/${person.talking_in}#sit` : `/view/${kind}/${person.id}#meet`) }, t("sit_down"))),
  ].filter(Boolean));
  box.hidden = false;
  if (hadFocus) $(hadFocus)?.focus();
}

const heard = ({ speaker_name: name, text, act }) => h("li", {}, h("strong", {}, name), " ", act && h("i", {}, `${act} `), text);

/** Shows who is in a crowd, each to be looked at. */
export function showCrowd(people, onPerson, onClose) {
  const one = ({ id, name, kind }) => h("li", {}, h("button", { type: "button", onclick: () => onPerson(id) }, face(id, kind), h("span", {}, name)));
  shown = CROWD;
  $("watched").replaceChildren(
    h("button", { type: "button", class: "close", "aria-label": t("dismiss"), onclick: onClose }, "×"),
    h("h3", {}, t("crowd", { count: people.length })),
    h("ul", { class: "people", tabindex: "0" }, people.map(one)));
  $("watched").hidden = false;
}

/** Nobody is looked at any more. */
export function hide() {
  $("watched").hidden = true;
  shown = "";
}
