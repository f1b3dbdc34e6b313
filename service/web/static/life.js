// Owns how a character's life is shown: what it does now, its needs as bars, its plan of the day.

import { api, pressed } from "./api.js";
import { badge, h } from "./dom.js";
import { actions, hour, needs, t, when } from "./page.js";

/** What somebody does now, in a line; `activity` as the API tells it. */
export function doing(activity) {
  if (!activity) return t("deciding");
  const what = actions[activity.action_id] ?? activity.name;
  return activity.until ? t("doing", { what, time: hour(activity.until) }) : what;
}

/** The needs as small bars, those that are urgent marked. */
export function bars(levels) {
  return h("span", { class: "needs" }, levels.map(bar));
}

function bar({ id, level, lowest, highest, critical }) {
  const name = needs[id];
  // What has no end in sight, such as money, is told as a number.
  const endless = highest - lowest > 1000;
  const urgent = critical !== null && level <= critical;
  const label = `${name} ${Math.round(level)}`;
  if (endless) return h("span", { class: "need number" }, label);
  return h("span", { class: `need${urgent ? " urgent" : ""}`, title: label },
    h("span", {}, name), h("meter", { min: lowest, max: highest, value: level, "aria-label": name }));
}

/** All of it: `one` as `GET /characters/{id}` tells it; `places`: names of facilities by id. */
export function life(one, places) {
  const rows = [
    [t("now"), doing(one.activity)],
    one.thought && [t("thought"), one.thought],
    [t("needs"), bars(one.needs)],
    one.items.length > 0 && [t("items"), one.items.join(t("comma"))],
    [t("decides"), [t(`decides_${one.decision}`), " ", one.decision === "client" && release(one.id)]],
  ].filter(Boolean);
  const day = one.plan.length ? one.plan : one.routine;
  return [
    h("dl", { class: "steps" }, rows.flatMap(([title, what]) => [h("dt", {}, title), h("dd", {}, what)])),
    day.length > 0 && h("details", {},
      h("summary", {}, t(one.plan.length ? "plan" : "routine")),
      h("ol", { class: "rows day" }, day.map((block) => blockRow(block, places)))),
  ].filter(Boolean);
}

/** The button that takes it out of a client's hands. */
function release(id) {
  const letGo = () => api(`/characters/${id}`, { method: "PATCH", body: { decision: null } });
  return h("button", { type: "button", onclick: (event) => pressed(event.currentTarget, letGo) }, t("let_go"));
}

function blockRow({ starts, activity, facility_id }, places) {
  return h("li", {}, h("time", {}, starts), h("span", {}, activity), badge(places[facility_id] ?? t("at_home")));
}

/** Until when something is announced, and what. */
export const announced = ({ text, until }) => badge(`${text} (${t("until", { time: when(until) })})`, "good");
