// Owns the conversation page: utterances as they are spoken, and afterwards what has changed.

import { api, complain, pressed } from "./api.js";
import { badge, h, setText } from "./dom.js";
import { face } from "./faces.js";
import { changes, failure } from "./changes.js";
import { $, has, id, t, when } from "./page.js";
import { reasons } from "./reasons.js";
import { speaking as speakingHere, turnOf } from "./player.js";
import { follow } from "./sse.js";
import { first, heardBy, nameOf, showTable, sitting } from "./table.js";

const path = `/conversations/${id}`;
let conversation = null;
let turns = 0;

// ---- the head ------------------------------------------------------------------------------------------------------

function showHead(detail) {
  conversation = detail;
  const { goal, phase, rehearsal, cost } = detail;
  const models = [...new Set(Object.values(detail.models))].filter((name) => name !== "rehearsal");
  $("badges").replaceChildren(
    badge(t(`phase_${phase}`), phase),
    ...(rehearsal ? [badge(t("rehearsal"), "rehearsal")] : []),
    ...models.map((name) => badge(t("model_is", { name }))),
  );
  const paid = t(models.length ? "cost" : "cost_rehearsal", {
    calls: cost.calls, tokens: cost.prompt_tokens + cost.completion_tokens,
  });
  setText($("when"), [when(detail.started_at), ...(cost.calls ? [paid] : [])].join(" · "));
  $("goal").replaceChildren(...(goal ? goalOf(detail) : detail.mode === "player" ? [] : [h("dd", {}, t("goal_none", { name: detail.character_name }))]));
  showTable(detail);
  for (const { classList, dataset } of $("turns").children) {
    for (const side of ["character", "npc"]) classList.toggle(side, side === kind(dataset.speaker));
  }
  $("close").hidden = phase !== "closing_failed";
  turnOf(detail);
}

function goalOf({ goal, goal_achieved, end_reason, character_name }) {
  const reached = end_reason && badge(t(goal_achieved ? "goal_achieved" : "goal_missed"), goal_achieved ? "good" : "");
  const own = !goal.given && h("span", { class: "quiet" }, ` ${t("own_goal", { name: character_name })}`);
  return [
    h("dt", {}, t("goal")), h("dd", {}, goal.goal, own),
    h("dt", {}, t("criteria")), h("dd", {}, goal.success_criteria, " ", reached),
  ];
}

// ---- what is said --------------------------------------------------------------------------------------------------

const refresh = async () => showHead(await api(path));

const kind = (speakerId) => (speakerId === first(conversation) ? "character" : "npc");

function bubble({ turn, speaker_id, speaker_name, act, text, emotion, addressed, loudness }, ...below) {
  const whispers = loudness === "whisper" && badge(`${t("loudness_whisper")} · ${t("said_to", { names: addressed.map(nameOf).join(t("comma")) })}`, "whisper");
  const mood = has(`emotion_${emotion}`) && h("span", { class: "quiet" }, ` ${t(`emotion_${emotion}`)}`);
  return [
    face(speaker_id, kind(speaker_id)),
    h("div", {},
      h("p", { class: "who" }, h("strong", {}, speaker_name), mood, " ", whispers, h("a", { href: `#turn-${turn}` }, `#${turn}`)),
      act && h("p", { class: "did" }, h("span", { class: "label" }, t("does")), " ", act),
      h("p", { class: "said" }, text), ...below),
  ];
}

function said(turn) {
  hush();
  if (turn.turn < turns) return;
  turns = turn.turn + 1;
  keepingTheEnd(() =>
    $("turns").append(
      h("li", { id: `turn-${turn.turn}`, "data-speaker": turn.speaker_id, class: `turn ${kind(turn.speaker_id)}` }, bubble(turn, turn.model !== "human" && reasons(path, turn.turn))),
    ),
  );
  if (location.hash === `#turn-${turn.turn}`) pointOut();
  if (!conversation.goal || conversation.mode === "player") refresh().catch(complain);
}

function speaking(words) {
  if (words.turn < turns) return;
  const box = $("speaking");
  if (box.hidden || box.dataset.turn !== String(words.turn)) {
    box.className = `turn ${kind(words.speaker_id)}`;
    box.dataset.turn = words.turn;
    box.replaceChildren(...bubble(words));
    box.hidden = false;
    setText($("status"), t("speaks", { name: words.speaker_name }));
  }
  keepingTheEnd(() => setText(box.querySelector(".said"), words.text));
}

function hush() {
  $("speaking").hidden = true;
  setText($("status"), "");
}

/** Who reads the newest line keeps seeing it; who has scrolled up is left where they are. */
function keepingTheEnd(change) {
  const page = document.documentElement;
  const atEnd = page.scrollHeight - page.clientHeight - page.scrollTop < 160;
  change();
  if (atEnd && !location.hash) page.scrollTop = page.scrollHeight;
}

function pointOut() {
  document.querySelector(".pointed")?.classList.remove("pointed");
  const turn = location.hash.startsWith("#turn-") && $(location.hash.slice(1));
  if (!turn) return;
  turn.classList.add("pointed");
  turn.scrollIntoView({ block: "center" });
}

// ---- its course ----------------------------------------------------------------------------------------------------

function ended({ reason }) {
  hush();
  setText($("status"), `${t(`end_${reason}`)} ${t("phase_closing")}…`);
  refresh().catch(complain);
}

function settled(detail) {
  detail.turns.forEach(said);
  showHead(detail);
  hush();
  if (detail.end_reason) setText($("status"), t(`end_${detail.end_reason}`));
  $("changes").replaceChildren(...failure(detail), ...(detail.phase === "closed" ? changes(detail) : []));
  $("changes").hidden = false;
}

function heard({ event, data }) {
  if (event === "turn") said(data);
  else if (event === "speaking") speaking(data);
  else if (event === "ended") ended(data);
  else if (event === "restored") location.reload();
  else if (event === "closed" || event === "closing_failed") settled(data);
  return event === "closed" || event === "closing_failed";
}

function lost(isLost) {
  if (isLost) setText($("status"), t("reconnecting"));
  else if ($("status").textContent === t("reconnecting")) setText($("status"), "");
}

async function watch() {
  showHead(await api(path));
  await follow(`${path}/events`, heard, lost);
}

$("end").addEventListener("click", () => pressed($("end"), async () => showHead(await api(`${path}/end`, { method: "POST" }))));
$("close").addEventListener("click", () =>
  pressed($("close"), async () => {
    await api(`${path}/close`, { method: "POST" });
    $("changes").hidden = true;
    await watch();
  }),
);
speakingHere(path, heardBy, refresh);
sitting(path, refresh);
addEventListener("hashchange", pointOut);
watch().catch(complain);
