// Owns the page of a scene's report: emotions over turns, how each stands to each other one, and the lines that turned it.

import { api, complain } from "./api.js";
import { badge, h, svg } from "./dom.js";
import { $, data, has, id, link, t } from "./page.js";

const WIDE = 260;
const HIGH = 90;
const EDGE = 8;

const named = (emotion) => t(has(`emotion_${emotion}`) ? `emotion_${emotion}` : "feels_calm");
const signed = (number) => (number > 0 ? `+${number}` : String(number));
const turnLink = (turn) => h("a", { href: `${link(`/view/scenes/${id}`)}#turn-${turn - 1}` }, `#${turn}`);

/** A row for each person, a column for each turn. */
function feelings(people) {
  const last = Math.max(0, ...people.flatMap(({ emotions }) => emotions.map((one) => one.turn_number)));
  const turns = Array.from({ length: last }, (_, index) => index + 1);
  $("feelings").replaceChildren(
    h("thead", {}, h("tr", {}, h("td", {}), turns.map((turn) => h("th", { scope: "col" }, turnLink(turn))))),
    h("tbody", {}, people.map(({ character_name, emotions }) => {
      const felt = new Map(emotions.map((one) => [one.turn_number, one.emotion]));
      return h("tr", {}, h("th", { scope: "row" }, character_name),
        turns.map((turn) => h("td", { class: felt.has(turn) ? `emotion ${felt.get(turn)}` : "" }, felt.has(turn) && named(felt.get(turn)))));
    })));
}

/** One line from the first turn to the last, between the lowest and the highest of all charts. */
function chart({ owner_id, other_id, affinity, remembered }, names, turns, low, high) {
  const x = (turn) => EDGE + (turn / Math.max(1, turns)) * (WIDE - 2 * EDGE);
  const y = (value) => HIGH - EDGE - ((value - low) / Math.max(1, high - low)) * (HIGH - 2 * EDGE);
  const [first, end] = [affinity[0].affinity, affinity.at(-1).affinity];
  const told = t("stands_to", { name: names[owner_id], other: names[other_id], from: first, to: end });
  let path = `M${x(0)},${y(first)}`;
  for (const { turn_number, affinity: value } of affinity.slice(1)) path += `H${x(turn_number)}V${y(value)}`;
  return h("li", {},
    h("p", {}, told,
      remembered !== null && [" ", badge(t("remembered_as", { affinity: remembered }))]),
    svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": told },
      low < 0 && high > 0 && svg("path", { class: "zero", d: `M${EDGE},${y(0)}H${WIDE - EDGE}` }),
      svg("path", { class: "liking", d: `${path}H${x(turns)}` }),
      affinity.slice(1).map(({ turn_number, affinity: value }) => svg("circle", { cx: x(turn_number), cy: y(value), r: 3.5 }))));
}

function relations(found, names, turns) {
  const all = found.flatMap(({ affinity }) => affinity.map((one) => one.affinity));
  const [low, high] = [Math.min(-5, ...all), Math.max(5, ...all)];
  const moved = found.filter(({ affinity, remembered }) => affinity.length > 1 || (remembered ?? affinity[0].affinity) !== affinity[0].affinity);
  $("relations").replaceChildren(...moved.map((one) => chart(one, names, turns, low, high)));
  $("unmoved").hidden = moved.length === found.length;
}

function turning(points, names) {
  $("no-turning").hidden = points.length > 0;
  $("turning").replaceChildren(...points.map(({ turn_number, character_id, line, owner_id, other_id, by, emotion }) =>
    h("li", {}, turnLink(turn_number), " ", h("strong", {}, names[character_id]), " ", h("q", {}, line), " ",
      by !== null && badge(t("likes_more_or_less", { name: names[owner_id], other: names[other_id], by: signed(by) }), by > 0 ? "good" : "warn"),
      by !== null && emotion && " ",
      emotion && badge(t("feels_now", { name: names[owner_id], emotion: named(emotion) })))));
}

async function read() {
  $("back").href = link(`/view/scenes/${id}`);
  const report = await api(`/scenes/${id}/report`);
  const names = Object.fromEntries(report.feelings.map((one) => [one.character_id, one.character_name]));
  const turns = Math.max(0, ...report.feelings.flatMap(({ emotions }) => emotions.map((one) => one.turn_number)));
  feelings(report.feelings);
  relations(report.relations, { ...data.names, ...names }, turns);
  turning(report.turning_points, { ...data.names, ...names });
}

read().catch(complain);
