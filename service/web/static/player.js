// Owns the visitor's own part: who speaks here, how a talk begins, and what is said in one.

import { api, pressed } from "./api.js";
import { h } from "./dom.js";
import { $, id, link, t } from "./page.js";

const KEPT = "kataribe-player";

/** Who spoke in this browser last. */
export function visitor() {
  return JSON.parse(localStorage.getItem(KEPT) ?? "null") ?? { id: "", name: "" };
}

/** The id of the player of that name: whom this browser or the world knows is that one again, else somebody new. */
function playerOf(name) {
  const last = visitor();
  if (last.name === name) return last.id;
  const known = [...$("visitors").options].find(({ value }) => value === name);
  return known?.dataset.id ?? `player-${Math.random().toString(36).slice(2, 10)}`;
}

/** The form that begins a talk with the person of this page. */
export function meeting() {
  entering(async (player_id) => {
    const body = { mode: "player", player_id, partner_id: id, choices: 3 };
    const begun = await api("/conversations/start", { method: "POST", body });
    location.href = link(`/view/conversations/${begun.id}`);
  });
}

/** The form in which the visitor says who it is; `enter` is told the player's id. */
export function entering(enter) {
  const form = $("meet");
  form.elements.name.value = visitor().name;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    pressed(form.querySelector("button"), async () => {
      const name = form.elements.name.value.trim();
      const player_id = playerOf(name);
      await api(`/people/${player_id}`, { method: "PUT", body: { kind: "player", name } });
      localStorage.setItem(KEPT, JSON.stringify({ id: player_id, name }));
      await enter(player_id);
    });
  });
}

/**
 * The form in which a person speaks in the conversation at `path`; `after` is told when something was done, `manner`
 * tells who is to hear it.
 */
export function speaking(path, manner, after) {
  const form = $("say");
  const words = form.elements.text;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!words.value.trim()) return;
    const body = { text: words.value, message_id: `${Date.now()}-${Math.random()}`, ...manner() };
    pressed(form.querySelector("button"), async () => {
      await api(`${path}/say`, { method: "POST", body });
      words.value = "";
      await after();
    });
  });
  $("choices").addEventListener("click", ({ target }) => {
    const line = target.closest("button");
    if (!line) return;
    pressed(line, async () => {
      await api(`${path}/choose`, { method: "POST", body: { choice_id: line.value } });
      await after();
      words.focus({ preventScroll: true }); // the button that had the focus is gone
    });
  });
  words.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  for (const [button, way] of [["take", "take-over"], ["give", "hand-back"]]) {
    $(button).addEventListener("click", () =>
      pressed($(button), async () => {
        await api(`${path}/${way}`, { method: "POST", body: { person_id: $(button).dataset.person } });
        await after();
      }),
    );
  }
}

/** Shows who may speak now, and what it could say. */
export function turnOf({ turns, phase, mode, living, awaits, character_id, character_name, character_kind, people }) {
  const runs = phase === "running";
  const isTheirs = runs && awaits !== null;
  const name = people.find(({ person_id }) => person_id === awaits)?.name;
  const wasHidden = $("say").hidden;
  $("say").hidden = !isTheirs;
  const suggested = (isTheirs && turns.at(-1)?.choices) || [];
  $("choices").hidden = !suggested.length;
  $("choices").replaceChildren(...suggested.map(({ id: value, text }) => h("button", { type: "button", value }, text)));
  if (isTheirs) $("say-as").textContent = t("say_as", { name });
  if (isTheirs && wasHidden && mode === "player") $("say").elements.text.focus({ preventScroll: true });
  const mayChange = runs && !living && character_kind === "character";
  for (const [button, shown] of [["take", mode === "models"], ["give", people.some(({ person_id, speaker }) => person_id === character_id && speaker === "human")]]) {
    $(button).hidden = !(mayChange && shown);
    $(button).dataset.person = character_id;
    $(button).textContent = t(button === "take" ? "take_over" : "hand_back", { name: character_name });
  }
}
