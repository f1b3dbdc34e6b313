// Owns the page of a scene: its turns and what was done to it, in place, and what its writer can do next.

import { api, complain, pressed } from "./api.js";
import { ask } from "./ask.js";
import { badge, h, setText } from "./dom.js";
import { face } from "./faces.js";
import { $, data, has, id, link, t, when } from "./page.js";
import { reasons } from "./reasons.js";

const path = `/scenes/${id}`;
const SPEAKS_MS = 700;
const STANDS_MS = 4000;
const OF_PERSON = ["add_person", "remove_person", "revelation", "long_term_update_request"];
const IN_WORDS = ["scene_situation_update", "add_event", "revelation"];

let scene = null;
let shown = "";

const sent = (where, body) => api(`${path}${where}`, { method: "POST", body });

// ---- what is shown -------------------------------------------------------------------------------------------------

function show(found) {
  const words = JSON.stringify(found);
  if (words === shown) return;
  const atEnd = document.documentElement.scrollHeight - innerHeight - scrollY < 160;
  const grew = scene !== null && found.turns.length > scene.turns.length;
  [scene, shown] = [found, words];
  head();
  turns();
  people();
  views();
  proposals();
  choose();
  if (grew && atEnd) scrollTo(0, document.documentElement.scrollHeight);
}

function head() {
  const { state, turns_said: said, max_turns: most, rehearsal, models, cost } = scene;
  const named = [...new Set(Object.values(models))].filter((name) => name !== "rehearsal");
  $("badges").replaceChildren(
    badge(t(`scene_${state}`), state === "speaks" ? "live" : ""),
    badge(t("turns_of", { said, most })),
    ...(state === "ended" ? [badge(t(`phase_${scene.phase}`), scene.phase)] : []),
    ...(rehearsal ? [badge(t("rehearsal"), "rehearsal")] : []),
    ...named.map((name) => badge(t("model_is", { name }))),
  );
  const paid = t(named.length ? "cost" : "cost_rehearsal", { calls: cost.calls, tokens: cost.prompt_tokens + cost.completion_tokens });
  setText($("when"), [scene.place, scene.time, when(scene.started_at), ...(cost.calls ? [paid] : [])].filter(Boolean).join(" · "));
  setText($("situation"), scene.situation);
  setText($("carried"), scene.carried && t("carried_over", { scene: scene.previous_scene, summary: scene.carried }));
  $("carried").hidden = !scene.carried;
  for (const button of ["next", "five"]) $(button).disabled = state !== "stands";
  $("going").hidden = state === "ended";
  const why = scene.failure?.detail ?? (scene.end_reason ? t(`end_${scene.end_reason}`) : "");
  setText($("status"), state === "speaks" ? t("turn_comes", { turn: said + 1 }) : why);
}

const name = (personId) => scene.participants.find((one) => one.person_id === personId)?.name ?? data.names[personId] ?? personId;
const names = (ids) => ids.map(name).join(t("comma"));

/** What stands there already stays: only what is new is read out. */
function turns() {
  const rows = [];
  for (let turn = 0; turn <= scene.turns.length; turn++) {
    rows.push(...scene.interventions.filter((one) => one.before_turn === turn).map((one) => [one, done]));
    if (turn < scene.turns.length) rows.push([scene.turns[turn], spoken]);
  }
  const keys = rows.map(([row]) => JSON.stringify(row));
  const list = $("turns");
  let same = 0;
  while (same < keys.length && list.children[same]?.dataset.row === keys[same]) same += 1;
  while (list.children.length > same) list.lastChild.remove();
  for (const [row, draw] of rows.slice(same)) {
    const item = draw(row);
    item.dataset.row = JSON.stringify(row);
    list.append(item);
  }
}

function done({ kind, person_name, text, spot, rule, failure }) {
  return h("li", { class: "done" },
    badge(t(`do_${kind}`), "medium"), " ",
    person_name && h("strong", {}, person_name), person_name && " ",
    h("span", {}, text), spot && ` (${spot})`,
    rule && h("span", { class: "quiet" }, ` ${t("by_rule", { rule })}`),
    failure && badge(t("proposal_failed"), "warn"));
}

function spoken({ turn, speaker_id, speaker_name, think, act, text, emotion, addressed, loudness, seen_by, heard_by }) {
  const mood = has(`emotion_${emotion}`) && h("span", { class: "quiet" }, ` ${t(`emotion_${emotion}`)}`);
  const others = scene.participants.filter((one) => one.person_id !== speaker_id && one.joined_turn <= turn && (one.left_turn === null || turn < one.left_turn)).length;
  const reach = (ids) => (ids.length === others ? t("all_of_them") : ids.length ? names(ids) : t("nobody_else"));
  const back = h("button", { type: "button", class: "small", "aria-label": t("rewind_before", { turn: turn + 1 }), onclick: () => pressed(back, () => rewind(turn)) }, t("rewind_here"));
  return h("li", { id: `turn-${turn}`, class: `turn ${data.kinds[speaker_id] ?? "character"}` },
    face(speaker_id, data.kinds[speaker_id] ?? "character"),
    h("div", {},
      h("p", { class: "who" }, h("strong", {}, speaker_name), mood, h("a", { href: `#turn-${turn}` }, `#${turn + 1}`)),
      think && h("p", { class: "think" }, h("span", { class: "label" }, t("thinks")), " ", think),
      act && h("p", { class: "did" }, h("span", { class: "label" }, t("does")), " ", act),
      text && h("p", { class: "said" }, text),
      h("p", { class: "reach quiet" },
        [loudness !== "normal" && t(`loudness_${loudness}`), addressed?.length && t("said_to", { names: names(addressed) }),
          act && t("seen_by", { names: reach(seen_by) }), text && t("heard_by", { names: reach(heard_by) })].filter(Boolean).join(" · "), " ", back),
      reasons(`/conversations/${scene.conversation_id}`, turn)));
}

function views() {
  const chosen = $("view").value;
  if ($("view").length === scene.participants.length + 1) return;
  $("view").replaceChildren(h("option", { value: "" }, t("taken_all")),
    ...scene.participants.map(({ person_id, name }) => h("option", { value: person_id, selected: person_id === chosen }, name)));
}

function people() {
  $("people").replaceChildren(...scene.participants.map(({ person_id, name, goal, plan, spot, left_turn, joined_turn }) =>
    h("li", {}, face(person_id, data.kinds[person_id] ?? "character"),
      h("span", {}, h("strong", {}, name),
        h("span", { class: "quiet" }, [joined_turn > 0 && t("came_at", { turn: joined_turn + 1 }), left_turn !== null && t("left_at", { turn: left_turn + 1 }), spot, goal && `${t("goal")}: ${goal}`, plan && `${t("scene_plan")}: ${plan}`].filter(Boolean).join(" · "))),
      h("span", {}))));
}

function proposals() {
  if ($("proposals").contains(document.activeElement)) return; // somebody writes there
  $("proposed").hidden = scene.proposals.length === 0;
  $("proposals").replaceChildren(...scene.proposals.map(proposal));
}

function proposal({ id: proposalId, person_name, kind, text, importance, evidence, state, refused_for }) {
  const words = h("textarea", { rows: 2, maxlength: 400, "aria-label": t("in_words") }, text);
  const weight = h("input", { type: "number", min: 1, max: 10, value: importance, "aria-label": t("weight") });
  const judge = (button, wanted) => pressed(button, async () => {
    await sent(`/proposals/${proposalId}`, { state: wanted, text: words.value.trim() || undefined, importance: Number(weight.value) });
    button.blur();
    await read();
  });
  const button = (label, wanted, kind) => {
    const made = h("button", { type: "button", class: kind, "aria-label": `${label}: ${text}`, onclick: () => judge(made, wanted) }, label);
    return made;
  };
  return h("li", {},
    h("p", {}, h("strong", {}, person_name), " ", badge(t(`lasting_${kind}`)), " ", badge(t(`proposal_${refused_for || state}`), { accepted: "good", refused: "warn", proposed: "live" }[state])),
    words,
    h("div", { class: "judged" },
      h("label", {}, t("weight"), " ", weight),
      h("span", { class: "quiet" }, evidence.map((turn) => h("a", { href: `#turn-${turn}` }, `#${turn + 1} `))),
      button(t("accept"), "accepted", "main"), button(t("refuse"), "refused", "")));
}

// ---- what its writer does ------------------------------------------------------------------------------------------

/** The form asks for what the chosen kind needs. */
function choose() {
  const over = scene.state === "ended";
  for (const option of $("kind").options) option.disabled = over && option.value !== "long_term_update_request";
  if (over) $("kind").value = "long_term_update_request";
  const kind = $("kind").value;
  const there = new Set(scene.participants.filter((one) => over || one.left_turn === null).map((one) => one.person_id));
  const all = Object.entries(data.names);
  const wanted = kind === "add_person" ? all.filter(([key]) => !there.has(key)) : all.filter(([key]) => there.has(key));
  const chosen = $("who").value;
  $("who").replaceChildren(...wanted.map(([key, text]) => h("option", { value: key, selected: key === chosen }, text)));
  $("who-label").hidden = !OF_PERSON.includes(kind);
  $("text-label").hidden = !IN_WORDS.includes(kind);
  $("text").required = IN_WORDS.includes(kind);
  $("spot-label").hidden = kind !== "add_person";
}

async function intervene() {
  const kind = $("kind").value;
  const body = { kind };
  if (OF_PERSON.includes(kind)) body.person_id = $("who").value;
  if (IN_WORDS.includes(kind)) body.text = $("text").value.trim();
  if (kind === "add_person" && $("spot").value.trim()) body.spot = $("spot").value.trim();
  try {
    await sent("/interventions", body);
    $("text").value = $("spot").value = "";
  } finally {
    await read();
  }
}

async function rewind(turn) {
  const world = await ask(t("rewind_title", { turn: turn + 1 }), t("rewind_what"));
  if (world === null) return;
  const { snapshot } = await sent("/rewind", { turn });
  await read();
  setText($("status"), t("rewound", { turn: turn + 1, snapshot }));
}

/** Opens what is taken away in a window of its own. */
function take() {
  const asked = { as: $("form").value, thoughts: $("thoughts").checked, world_id: data.world, ...($("view").value && { view: $("view").value }) };
  open(`${path}/log?${new URLSearchParams(asked)}`, "_blank", "noopener");
}

const goOn = (button, count) => pressed(button, async () => show(await sent("/turns", { count })));

$("next").addEventListener("click", () => goOn($("next"), 1));
$("five").addEventListener("click", () => goOn($("five"), 5));
$("end").addEventListener("click", () => pressed($("end"), async () => show(await sent("/end"))));
$("kind").addEventListener("change", choose);
$("intervene").addEventListener("submit", (event) => {
  event.preventDefault();
  pressed(event.submitter, intervene);
});

$("report").href = link(`/view/scenes/${id}/report`);
$("take").addEventListener("submit", (event) => {
  event.preventDefault();
  take();
});

// ---- its course ----------------------------------------------------------------------------------------------------

const read = async () => show(await api(path));

async function again() {
  if (!document.hidden) await read().catch(complain);
  const busy = scene?.state === "speaks" || scene?.phase === "closing";
  setTimeout(again, busy ? SPEAKS_MS : STANDS_MS);
}

again();
