// Owns the page of the scenes: those that were begun, and those of the game's files, which can be.

import { api, complain, pressed } from "./api.js";
import { badge, h } from "./dom.js";
import { $, link, t, when } from "./page.js";

async function read() {
  const { items, authored } = await api("/scenes");
  $("played").replaceChildren(...(items.length ? items.map(played) : [h("li", { class: "quiet" }, t("no_scenes"))]));
  $("authored").replaceChildren(...(authored.length ? authored.map(written) : [h("li", { class: "quiet" }, t("no_authored"))]));
}

const about = (...words) => h("span", { class: "quiet" }, words.filter(Boolean).join(" · "));

function played({ id, place, time, participants, turns_said, max_turns, state, started_at }) {
  return h("li", {},
    h("a", { href: link(`/view/scenes/${id}`) }, h("strong", {}, id), about(place, time, participants.map(({ name }) => name).join(t("comma")))),
    h("span", { class: "aside" },
      h("span", { class: "badges" }, badge(t("turns_of", { said: turns_said, most: max_turns })), badge(t(`scene_${state}`), state === "speaks" ? "live" : "")),
      h("time", {}, when(started_at))));
}

function written({ id, time, situation, people }) {
  const begins = h("button", { type: "button", "aria-label": `${t("begin_scene")}: ${id}`, onclick: () => pressed(begins, () => begin(id)) }, t("begin_scene"));
  return h("li", {}, h("span", {}, h("strong", {}, id), " ", about(time, Object.values(people).join(t("comma"))), h("p", {}, situation)), begins);
}

async function begin(id) {
  const scene = await api("/scenes", { method: "POST", body: { scene_id: id } });
  location.href = link(`/view/scenes/${scene.id}`);
}

read().catch(complain);
