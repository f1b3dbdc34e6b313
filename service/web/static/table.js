// Owns the table of a conversation: who sits at it, who may sit down, who gets up, and who hears what is said.

import { api, complain, pressed } from "./api.js";
import { h, setText } from "./dom.js";
import { face } from "./faces.js";
import { $, data, t } from "./page.js";
import { entering, visitor } from "./player.js";

const called = new Map(); // names by id, also of who has left
let seated = ""; // what is shown

/** The name of somebody who sits there, or has. */
export const nameOf = (id) => called.get(id) ?? id;

/** Whose words are shown as the visitor's own, or the opener's. */
export const first = ({ people, character_id }) => people.find(({ speaker }) => speaker === "human")?.person_id ?? character_id;

/** Shows who sits there, and what the visitor can do about it. */
export function showTable(detail) {
  const { people, phase, node_id } = detail;
  for (const { person_id, name } of people) called.set(person_id, name);
  const words = JSON.stringify([people, phase]);
  if (words === seated) return;
  seated = words;
  const runs = phase === "running";
  const own = first(detail);
  const isOwn = runs && people.some(({ person_id, speaker }) => speaker === "human" && person_id === visitor().id);
  const hasPlayer = people.some(({ speaker }) => speaker === "human");
  const others = people.filter(({ person_id }) => person_id !== own);
  const isFull = people.length >= data.table;
  $("table").replaceChildren(...people.map((one) => seat(one, own)));
  if (people.length > 2) setText(document.querySelector("h1"), people.map(({ name }) => name).join(t("comma")));
  $("sit").hidden = !runs || hasPlayer || isFull;
  $("full").hidden = !runs || hasPlayer || !isFull;
  setText($("full"), t("table_full", { count: data.table }));
  $("leave").hidden = !isOwn || people.length < 3;
  $("end").hidden = !runs || !$("leave").hidden;
  showEars(others);
  if (location.hash === "#sit" && !$("sit").hidden) $("meet").elements.name.focus();
  $("ask-over").hidden = true;
  if (isOwn && !isFull) offer(node_id).catch(complain);
}

const seat = ({ person_id, name }, own) => h("li", {}, face(person_id, person_id === own ? "character" : "npc"), h("span", {}, name));

/** Who is to hear the next words: all, or one alone. */
function showEars(others) {
  const before = $("ears").value;
  $("ears").replaceChildren(h("option", { value: "" }, t("aloud")),
    ...others.map(({ person_id, name }) => h("option", { value: person_id }, t("to_one_only", { name }))));
  $("ears").value = others.some(({ person_id }) => person_id === before) ? before : "";
  $("ears").parentElement.hidden = others.length < 2;
}

/** What the choice of ears adds to what is said. */
export const heardBy = () => ($("ears").parentElement.hidden || !$("ears").value ? {} : { to: $("ears").value, loudness: "whisper" });

/** Offers those who stand beside the table, and are free. */
async function offer(nodeId) {
  const [{ people }, { edges }] = await Promise.all([api("/world/people"), api("/world/map")]);
  const near = new Set([nodeId, ...edges.flatMap(({ a, b }) => (a === nodeId ? [b] : b === nodeId ? [a] : []))]);
  const free = people.filter(({ kind, talking_in, position }) => kind !== "player" && !talking_in && !position.walking_to && near.has(position.node_id));
  $("guest").replaceChildren(...free.map(({ id, name }) => h("option", { value: id }, name)));
  $("ask-over").hidden = !free.length;
}

/** Lets the buttons of the table do what they say in the conversation at `path`; `after` is told when it is done. */
export function sitting(path, after) {
  entering(async (person_id) => {
    await api(`${path}/join`, { method: "POST", body: { person_id } });
    history.replaceState(null, "", location.pathname + location.search); // #sit has been done
    await after();
  });
  $("ask-over").addEventListener("submit", (event) => {
    event.preventDefault();
    pressed(event.submitter, async () => {
      await api(`${path}/join`, { method: "POST", body: { person_id: $("guest").value } });
      await after();
    });
  });
  $("leave").addEventListener("click", () =>
    pressed($("leave"), async () => {
      await api(`${path}/leave`, { method: "POST", body: { person_id: visitor().id } });
      await after();
      $("status").focus();
    }),
  );
}
