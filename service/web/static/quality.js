// Owns the page of quality: the mean of each dimension over world time, and the lines with the lowest marks and why.

import { api, complain } from "./api.js";
import { badge, h, setText, svg } from "./dom.js";
import { $, link, t, when } from "./page.js";
import { reasons } from "./reasons.js";

const WIDE = 260, HIGH = 90, EDGE = 8, HIGHEST = 9;

const x = (place, count) => EDGE + (count > 1 ? place / (count - 1) : 0.5) * (WIDE - 2 * EDGE);
const y = (score) => HIGH - EDGE - (score / HIGHEST) * (HIGH - 2 * EDGE);
const percent = (share) => `${Math.round(share * 1000) / 10} %`;

/** One line over all hours or days; where it is dashed is the threshold. */
function chart({ dimension, mean, below }, spans, threshold) {
  const told = mean === null
    ? t("quality_unmarked", { name: t(`dimension_${dimension}`) })
    : t("quality_mean", { name: t(`dimension_${dimension}`), mean, below, threshold });
  const means = spans.map(({ at, means: of }) => ({ at, mean: of.find((one) => one.dimension === dimension).mean }));
  const points = means.map((one, place) => ({ ...one, place })).filter((one) => one.mean !== null);
  const path = points.map(({ place, mean: score }, number) => `${number ? "L" : "M"}${x(place, spans.length)},${y(score)}`);
  return h("li", {},
    h("p", {}, told),
    svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": told },
      svg("path", { class: "zero", d: `M${EDGE},${y(threshold)}H${WIDE - EDGE}` }),
      svg("path", { class: "liking", d: path.join("") }),
      points.map(({ at, place, mean: score }) => svg("circle", { cx: x(place, spans.length), cy: y(score), r: 3 },
        svg("title", {}, `${when(at)}: ${score}`)))));
}

const marked = (marks) => h("ul", { class: "marks" }, [...marks].sort((one, other) => one.score - other.score).map(({ dimension, score, reason }) =>
  h("li", {}, h("strong", {}, `${t(`dimension_${dimension}`)} ${score}`), " ", reason)));

function line({ name, person_id, at, line: said, lowest, marks, outcome, refused, conversation_id, turn }, threshold) {
  const page = conversation_id === null ? `/view/characters/${person_id}` : `/view/conversations/${conversation_id}#turn-${turn}`;
  return h("li", {},
    badge(String(lowest), lowest < threshold ? "warn" : "good"), " ", h("strong", {}, name), " ", h("q", {}, said), " ",
    h("a", { href: link(page) }, when(at)), " ",
    badge(t(`outcome_${outcome}`)),
    marked(marks),
    refused.length > 0 && h("details", {}, h("summary", {}, t("quality_refused", { count: refused.length })),
      refused.map((one) => [h("p", {}, h("q", {}, one.line)), marked(one.marks)])),
    conversation_id !== null && reasons(`/conversations/${conversation_id}`, turn));
}

async function read() {
  const role = $("role").value;
  const found = await api(`/world/quality${role ? `?role=${role}` : ""}`);
  const { threshold, shares } = found.rules;
  const told = Object.fromEntries(shares.map((one) => [one.role, percent(one.share)]));
  setText($("rules"), shares.some(({ share }) => share > 0) ? t("quality_shares", told) : t("quality_off"));
  const { cost: { calls, prompt_tokens: sent, completion_tokens: written }, failures } = found;
  setText($("counts"), found.checked
    ? [t("quality_counts", { checked: found.checked, ...found.outcomes }), t("quality_cost", { calls, failures, tokens: sent + written })].join(" ")
    : t("quality_none"));
  $("badges").replaceChildren(...(found.rehearsal ? [badge(t("rehearsal"), "rehearsal")] : []));
  $("scores").replaceChildren(...(found.checked ? found.means.map((mean) => chart(mean, found.spans, threshold)) : []));
  $("worst").replaceChildren(...found.worst.map((one) => line(one, threshold)));
  $("found").hidden = false;
}

$("role").addEventListener("change", () => read().catch(complain));
read().catch(complain);
