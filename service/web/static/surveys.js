// Owns the page of surveys: what is asked of whom, each one's answer, how often each was given, and the table as a file.

import { api, pressed } from "./api.js";
import { badge, h, setText, svg } from "./dom.js";
import { $, data, t } from "./page.js";

const GROUPS = ["all", "npcs", "characters"];
const WIDTH = 600, ROW = 30, NAMES = 200;

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function body() {
  const kind = $("kind").value, who = $("people").value;
  return {
    question: $("question").value,
    people: GROUPS.includes(who) ? who : [who],
    remember: $("remember").checked,
    ...($("stimulus").value.trim() && { stimulus: $("stimulus").value }),
    ...(kind === "choice" && { choices: lines($("choices").value) }),
    ...(kind === "number" && { number: { min: Number($("min").value), max: Number($("max").value) } }),
  };
}

async function ask() {
  setText($("told"), t("survey_waits"));
  $("results").hidden = false;
  for (const part of ["badges", "chart", "answers"]) $(part).replaceChildren();
  $("table").hidden = true;
  try {
    await ($("kind").value === "scan" ? scan() : survey());
  } catch (error) {
    $("results").hidden = true;
    throw error;
  }
}

async function survey() {
  const found = await api("/surveys", { method: "POST", body: body() });
  mark(found.rehearsal, found.models);
  const mean = found.mean === null ? "" : t("survey_mean", { mean: found.mean });
  setText($("told"), [t("survey_counts", found), mean, cost(found)].filter(Boolean).join(" · "));
  $("chart").replaceChildren(...(found.bars.length ? [chart(found.bars)] : []));
  const heads = ["survey_who", "survey_answer", "survey_because", "survey_rests"].map((key) => h("th", { scope: "col" }, t(key)));
  $("answers").replaceChildren(h("table", { class: "answers" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, found.answers.map(row))));
  URL.revokeObjectURL($("table").href);
  $("table").href = URL.createObjectURL(new Blob([found.csv], { type: "text/csv" }));
  $("table").hidden = false;
}

function row({ name, answer, because, rests_on: memories, failure }) {
  return h("tr", {},
    h("th", { scope: "row" }, name),
    failure ? h("td", { class: "wrong", colspan: 3 }, failure.detail) : [h("td", {}, String(answer)), h("td", {}, because), h("td", {}, rests(memories))]);
}

const rests = (memories) => memories.length > 0 && h("ul", {}, memories.map(({ text }) => h("li", {}, text)));

async function scan() {
  const id = $("people").value;
  const found = await api(`/people/${id}/summary`, { method: "POST", body: { question: $("question").value } });
  mark(found.model === "rehearsal", [found.model]);
  setText($("told"), [t("survey_scanned", found), cost(found)].join(" · "));
  const told = found.sentences.map(({ text, rests_on: memories }) => h("details", {}, h("summary", {}, text), rests(memories)));
  $("answers").replaceChildren(...(told.length ? told : [h("p", {}, t("survey_nothing"))]));
}

function mark(rehearsal, models) {
  const named = models.filter((name) => name && name !== "rehearsal");
  $("badges").replaceChildren(...(rehearsal ? [badge(t("rehearsal"), "rehearsal")] : []), ...named.map((name) => badge(t("model_is", { name }))));
}

const cost = ({ cost: { calls, prompt_tokens: sent, completion_tokens: written } }) => t("survey_cost", { calls, tokens: sent + written });

/** A bar for each answer. The table and the label tell the same to who does not see it. */
function chart(bars) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const label = bars.map((bar) => `${bar.label}: ${bar.count}`).join(t("comma"));
  const drawn = bars.map(({ label: name, count }, place) => {
    const y = place * ROW, width = (count / most) * (WIDTH - NAMES - 50);
    const short = [...name].length > 22 ? `${[...name].slice(0, 21).join("")}…` : name;
    return svg("g", {},
      svg("text", { x: NAMES - 8, y: y + 20, "text-anchor": "end" }, short),
      svg("rect", { x: NAMES, y: y + 4, width, height: ROW - 8, rx: 4 }),
      svg("text", { x: NAMES + width + 8, y: y + 20 }, String(count)));
  });
  return svg("svg", { class: "bars", viewBox: `0 0 ${WIDTH} ${bars.length * ROW}`, role: "img", "aria-label": label }, drawn);
}

/** What of the form is of use: a summary is of one person alone. */
function choose() {
  const kind = $("kind").value, scans = kind === "scan";
  $("choices-label").hidden = kind !== "choice";
  for (const bound of ["min-label", "max-label"]) $(bound).hidden = kind !== "number";
  for (const only of ["remember-label"]) $(only).hidden = scans;
  $("stimulus").parentElement.hidden = scans;
  for (const option of $("people").options) option.disabled = scans && GROUPS.includes(option.value);
  if (scans && GROUPS.includes($("people").value)) [$("people").value] = Object.keys(data.names);
}

$("kind").addEventListener("change", choose);
$("survey").addEventListener("submit", (event) => {
  event.preventDefault();
  pressed(event.submitter ?? $("survey").querySelector("button"), ask);
});
choose();
