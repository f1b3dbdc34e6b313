// Owns the taking in of files of other programs: what becomes of them is shown, and then written.

import { api, pressed } from "./api.js";
import { badge, h, setText, svg } from "./dom.js";
import { bytesOf } from "./files.js";
import { $, t } from "./page.js";

const AROUND = 2; // lines that stay, shown before and after those that change

let sent = null;
let etag = "";

async function look() {
  $("preview").hidden = true;
  const files = Object.fromEntries(await Promise.all([...$("files").files].map(async (one) => [one.name, await bytesOf(one)])));
  sent = {
    files,
    replace: $("replace").checked,
    ...($("id").value.trim() && { id: $("id").value.trim() }),
    ...($("home").value.trim() && { home: $("home").value.trim() }),
  };
  const found = await api("/content/import", { method: "POST", body: sent });
  ({ etag } = found);
  setText($("told"), "");
  $("write").hidden = false;
  $("becomes").replaceChildren(...[notes(found.notes), ...Object.keys(found.files).map((file) => becomes(file, found.files[file], found.before[file] ?? null))].filter(Boolean));
  $("preview").hidden = false;
  $("preview").focus();
}

async function write() {
  await api("/content/import", { method: "POST", headers: { "If-Match": `"${etag}"` }, body: sent });
  $("write").hidden = true;
  setText($("told"), t("import_written"));
  $("preview").focus();
}

const notes = (said) => said.length > 0 && h("details", { open: said.length < 6 },
  h("summary", {}, `${t("import_notes")} (${said.length})`), h("ul", {}, said.map((one) => h("li", {}, one))));

function becomes(file, text, before) {
  const state = text === null ? badge(t("import_gone"), "warn") : before === null ? badge(t("import_new"), "good") : badge(t("import_changed"), "live");
  return h("section", {}, h("h3", {}, h("code", {}, file), " ", state), drawn(file, text, before),
    h("pre", { tabindex: 0, "aria-label": file }, text === null ? before : changed(text, before)));
}

/** The text; of one that changes, the lines that do and some around them. */
function changed(text, before) {
  if (before === null) return text;
  const now = text.split("\n"), then = before.split("\n");
  const most = Math.min(now.length, then.length);
  let head = 0, tail = 0;
  while (head < most && now[head] === then[head]) head += 1;
  while (tail < most - head && now.at(-1 - tail) === then.at(-1 - tail)) tail += 1;
  const from = Math.max(0, head - AROUND), until = now.length - Math.max(0, tail - AROUND);
  const inside = now.slice(from, until).map((line, place) => (from + place < head || from + place >= now.length - tail ? `${line}\n` : h("ins", {}, `${line}\n`)));
  return [from > 0 && "…\n", then.slice(head, then.length - tail).map((line) => h("del", {}, `${line}\n`)), inside, until < now.length && "…\n"].flat();
}

/** The maps that are new or changed, as they lie. */
function drawn(file, text, before) {
  if (file !== "maps.json" || text === null) return null;
  const known = new Set(before === null ? [] : JSON.parse(before).maps.map((area) => JSON.stringify(area)));
  return JSON.parse(text).maps.filter((area) => !known.has(JSON.stringify(area))).map(sketch);
}

function sketch({ nodes, edges, facilities = [] }) {
  const at = new Map(nodes.map(({ id, x = 0, y = 0 }) => [id, { x, y }]));
  const xs = nodes.map(({ x = 0 }) => x), ys = nodes.map(({ y = 0 }) => y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [width, height] = [Math.max(...xs) - left || 1, Math.max(...ys) - top || 1];
  const unit = Math.max(width, height) / 100;
  const places = new Set(facilities.flatMap((one) => one.nodes));
  const told = t("import_map", { nodes: nodes.length, edges: edges.length, facilities: facilities.length });
  return h("figure", {},
    svg("svg", { class: "sketch", viewBox: `${left - 4 * unit} ${top - 4 * unit} ${width + 8 * unit} ${height + 8 * unit}`, role: "img", "aria-label": told },
      edges.filter(({ from, to }) => at.has(from) && at.has(to)).map(({ from, to }) =>
        svg("line", { x1: at.get(from).x, y1: at.get(from).y, x2: at.get(to).x, y2: at.get(to).y, "stroke-width": unit })),
      [...at].map(([id, { x, y }]) => svg("circle", { cx: x, cy: y, r: 1.6 * unit, class: places.has(id) ? "place" : "" }))),
    h("figcaption", { class: "quiet" }, told));
}

$("import").addEventListener("submit", (event) => {
  event.preventDefault();
  pressed(event.submitter ?? $("import").querySelector("button"), look);
});
$("write").addEventListener("click", () => pressed($("write"), write));
