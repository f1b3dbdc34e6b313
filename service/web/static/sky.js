// Owns the light over the map at a time of day, which shops are open then, and what a weather's words look like. Pure.

const LIGHT = [ // minute of the day, colour of the veil, how dense
  [0, [12, 26, 84], 0.56], [270, [12, 26, 84], 0.52], [345, [120, 80, 120], 0.26], [420, [255, 190, 120], 0.1],
  [510, [255, 240, 210], 0], [960, [255, 220, 160], 0], [1065, [240, 140, 70], 0.17], [1130, [96, 60, 110], 0.34],
  [1200, [16, 30, 92], 0.5], [1440, [12, 26, 84], 0.56],
];

const minuteOfDay = (minute) => ((minute % 1440) + 1440) % 1440;

/** The veil over the map: a colour of CSS. */
export function veil(minute) {
  const at = minuteOfDay(minute);
  const next = LIGHT.findIndex(([from]) => from > at);
  const [[from, a, thin], [until, b, dense]] = [LIGHT[next - 1], LIGHT[next]];
  const part = (at - from) / (until - from);
  const mix = (x, y) => x + (y - x) * part;
  return `rgb(${a.map((one, index) => Math.round(mix(one, b[index]))).join(" ")} / ${mix(thin, dense).toFixed(3)})`;
}

/** Whether lamps are lit. */
export const isDark = (minute) => minuteOfDay(minute) < 345 || minuteOfDay(minute) >= 1110;

/** Whether one of the hours, each HH:MM-HH:MM, holds that minute; `closes` before `opens` runs past midnight. */
export function isOpen(hours, minute) {
  const at = minuteOfDay(minute);
  return hours.some((one) => {
    const [opens, closes] = one.split("-").map((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)));
    return opens < closes ? opens <= at && at < closes : at >= opens || at < closes;
  });
}

const WORDS = {
  snow: /snow|sleet|blizzard|雪|吹雪|みぞれ/iu,
  storm: /storm|typhoon|thunder|gale|嵐|台風|雷|暴風/iu,
  rain: /rain|drizzle|shower|雨|しぐれ|夕立/iu,
  fog: /fog|mist|haze|霧|霞|もや/iu,
  clouds: /cloud|overcast|grey|gray|曇|雲/iu,
};

/** What the weather, in its author's words, looks like: snow, storm, rain, fog, clouds; empty: clear, or unknown words. */
export const looks = (weather) => Object.keys(WORDS).find((one) => WORDS[one].test(weather ?? "")) ?? "";
