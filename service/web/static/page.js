// Owns what the server told this page: language, world, texts; and how addresses and world times are written.

export const data = JSON.parse(document.getElementById("page").textContent);

export const { lang, world, id, name, about, places, actions, needs, kinds } = data;

export const $ = (name) => document.getElementById(name);

/** A text of the page's language, its {names} filled in. An unknown key is shown as it is. */
export function t(key, facts = {}) {
  const text = data.texts[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => facts[name] ?? whole);
}

/** True if there is such a text. */
export const has = (key) => key in data.texts;

/** The address of a page of the same world, in the same language. */
export function link(path, query = {}) {
  const [bare, hash = ""] = path.split("#");
  const all = new URLSearchParams(query);
  if (world !== "main" && !all.has("world_id")) all.set("world_id", world);
  if (data.asked) all.set("lang", data.asked);
  return bare + (all.size ? `?${all}` : "") + (hash && `#${hash}`);
}

// World times have no zone: they are read and written as if all were UTC.
const asDate = (iso) => new Date(`${iso}Z`);
const full = new Intl.DateTimeFormat(lang, {
  timeZone: "UTC", month: "short", day: "numeric", weekday: "short", hour: "numeric", minute: "2-digit", hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(lang, { timeZone: "UTC", month: "short", day: "numeric", weekday: "short" });

/** A world time as a person would say it. */
export const when = (iso) => full.format(asDate(iso));

/** Only its day. */
export const dayOf = (iso) => day.format(asDate(iso));

/** Only its hour and minute. */
export const hour = (iso) => iso.slice(11, 16);

/** World minutes from one time to another. */
export const minutesBetween = (from, to) => Math.round((asDate(to) - asDate(from)) / 60000);
