// Owns how two worlds are shown beside each other: what was said, remembered, felt and promised in one and not in the other.

import { api, pressed } from "./api.js";
import { h } from "./dom.js";
import { $, t, when } from "./page.js";

const SHOWN = 50;

/** Offers these worlds for comparison; what was chosen stays chosen. */
export function offer(ids) {
  let here = "";
  for (const name of ["here", "there"]) {
    const others = ids.filter((id) => id !== here);
    here = others.includes($(name).value) ? $(name).value : others[0];
    $(name).replaceChildren(...ids.map((id) => h("option", { value: id, selected: id === here }, id)));
  }
  $("compare").hidden = ids.length < 2;
}

$("compare-form").addEventListener("submit", (event) => {
  event.preventDefault();
  pressed(event.submitter, async () => {
    const found = await api(`/world/compare?with=${$("there").value}&limit=${SHOWN}`, { headers: { "X-World-Id": $("here").value } });
    $("comparison").replaceChildren(...shown(found));
  });
});

function shown({ here, there, parted_at: parted, conversations, memories_here: ours, memories_there: theirs, attitudes, promises }) {
  const longer = ours.items.length > theirs.items.length ? ours.items : theirs.items;
  const memories = { count: ours.count + theirs.count, shown: ours.items.length + theirs.items.length };
  const table = (...more) => sides(here, there, ...more);
  return [
    h("p", {}, parted ? t("parted", { time: when(parted) }) : t("never_one")),
    table(t("said_otherwise"), conversations, conversations.items.flatMap((one) => [
      label(one.people.join(t("comma")), one.at),
      ...one.turns.map((turn) => pair(line(turn.here), line(turn.there))),
    ])),
    table(t("remembered_otherwise"), memories, longer.map((_, i) => pair(memory(ours.items[i]), memory(theirs.items[i])))),
    table(t("felt_otherwise"), attitudes, attitudes.items.flatMap((one) => [
      label(`${one.name} → ${one.other_name}`), pair(...[one.here, one.there].map(standing)),
    ])),
    table(t("promised_otherwise"), promises, promises.items.flatMap((one) => [
      label(`${one.by_name} → ${one.to_name}`), pair(...[one.here, one.there].map(promise)),
    ])),
  ];
}

/** A table of two columns, one for each world. */
function sides(here, there, title, { count, items, shown = items.length }, rows) {
  const head = (world) => h("th", { scope: "col" }, world.id, " ", h("time", { class: "quiet" }, when(world.now)));
  return h("table", { class: "sides" },
    h("caption", {}, title, " ", h("span", { class: "quiet" }, shown < count ? t("shown_of", { shown, count }) : count)),
    count > 0 && h("thead", {}, h("tr", {}, head(here), head(there))),
    h("tbody", {}, rows));
}

const label = (text, time) => h("tr", { class: "about" }, h("th", { colspan: 2, scope: "colgroup" }, text, time && h("time", { class: "quiet" }, " ", when(time))));
const pair = (ours, theirs) => h("tr", {}, h("td", {}, ours), h("td", {}, theirs));
const none = () => h("span", { class: "quiet" }, "—");

const line = (said) => (said ? [h("strong", {}, said.speaker_name), " ", said.text] : none());
const memory = (one) => one && [h("strong", {}, one.name), " ", one.text, " ", h("time", { class: "quiet" }, when(one.at))];
const promise = (one) => (one ? [one.what, " ", h("span", { class: "quiet" }, t(`promise_${one.state}`), one.due_at && ` · ${when(one.due_at)}`)] : none());

function standing({ affinity, power, intimacy, task_oriented: task, times_met: met }) {
  const judged = power === null ? "" : t("judged", { power, intimacy, task });
  return [t("affinity_met", { affinity, met }), " ", h("span", { class: "quiet" }, judged)];
}
