// Owns the world page: keeps clock, map, people, conversations and events as they are, and passes on what is pressed.

import { api, calm, complain, pressed } from "./api.js";
import { badge, h, setText } from "./dom.js";
import { face } from "./faces.js";
import { announced, bars, doing } from "./life.js";
import { Village } from "./map.js";
import { $, actions, data, has, hour, kinds, link, minutesBetween, t, when } from "./page.js";
import { Past } from "./past.js";
import { talkRow } from "./talks.js";
import { correct, follow, Following, minuteOf, walk, waysOf } from "./walk.js";
import { hide, showCrowd, showWatched } from "./watched.js";
import { forgetTalks, hearOf, listen, saidAt } from "./words.js";

const EVERY_MS = 3000;
const EVENTS_SHOWN = 60;
const EVENTS_KEPT = 600;
const STEPS = [10, 60, 1440];
const SPEEDS = [1, 10, 60, 360, 1440]; // world minutes a minute
const MOVING_MS = 700;
const CROWD = 60; // of more characters than that, only the chosen one's needs are asked for

const STEP_MS = 120; // of the page's time for a world minute that was ordered, up to EVERY_MS

const now = { world: null, budget: null, map: null, people: [], lives: [], mapId: null, chosen: null, watched: null };
let lastEvent = 0;
let lastWalk = null; // the newest event of somebody who set out
let timeline = 0;
let older = null; // the cursor of what happened before the events shown
let shownConversations = "";

// ---- what is there -------------------------------------------------------------------------------------------------

let reading = Promise.resolve();

/** One reading at a time: two at once would list the same events twice. */
function refresh() {
  reading = reading.then(read, read);
  return reading;
}

async function read() {
  const [world, people, conversations, budget, errors] = await Promise.all([
    api("/world"), api("/world/people"), api("/conversations?limit=8"), api("/usage/budget"),
    api(link("/view/content-errors")),
  ]);
  if (!now.map || now.world.npcs !== world.npcs) await readMap();
  now.world = world;
  now.budget = budget;
  now.people = people.people;
  for (const { id, name } of now.people) called.set(id, name);
  for (const one of conversations.items) {
    called.set(one.character_id, one.character_name);
    called.set(one.partner_id, one.partner_name);
  }
  now.lives = characters().length <= CROWD ? await api("/characters") : [];
  now.chosen ??= characters()[0]?.id ?? null;
  now.mapId ??= mapOf(person(now.chosen)?.position?.node_id) ?? Object.keys(now.map.maps)[0];
  showWorld();
  showErrors(errors);
  showSteps();
  showClock();
  await readWalks();
  showMap();
  showPeople();
  showActions();
  showConversations(conversations.items);
  await readEvents();
  hearOf(conversations.items);
  if (await listen(shownAt(), person(now.watched)?.talking_in)) village.wake();
}

const characters = () => now.people.filter((p) => p.kind === "character");
const person = (id) => now.people.find((p) => p.id === id);
const called = new Map([...$("who").options].map(({ value, text }) => [value, text])); // names by id, also of who is nowhere now
const nameOf = (id) => person(id)?.name ?? called.get(id) ?? id;
const mapOf = (nodeId) => now.map.nodes.find((n) => n.id === nodeId)?.map_id;
const nodeName = (id) => now.map.nodes.find((n) => n.id === id)?.name ?? id;

// ---- clock and badges ----------------------------------------------------------------------------------------------

const SKY = [[5, "night"], [7, "dawn"], [16, "day"], [19, "dusk"], [24, "night"]];

function showWorld() {
  const { world } = now;
  setText($("clock"), when(world.now));
  $("clock").dateTime = world.now;
  $("sky").dataset.sky = SKY.find(([until]) => Number(world.now.slice(11, 13)) < until)[1];
  const models = [...new Set(Object.values(world.models))];
  $("no-model").hidden = !models.includes("none");
  const badges = [
    world.rehearsal && badge(t("rehearsal_how"), "rehearsal"),
    models.includes("none") && badge(t("no_model"), "warn"),
    ...models.filter((m) => m !== "none" && m !== "rehearsal").map((name) => badge(t("model_is", { name }))),
    badge(t("memory_backend", { name: world.memory })),
    world.moving && badge(t("moves", { time: when(world.until) }), "live"),
    world.calls_in_flight > 0 && badge(t("calls", { count: world.calls_in_flight }), "live"),
    world.clock.mode === "running" && badge(t("clock_running", { speed: world.clock.speed })),
    world.clock.stopped && badge(t(`stopped_${world.clock.stopped.reason}`), "warn"),
    ...left(now.budget),
    world.weather && badge(t("weather", { weather: world.weather })),
    ...world.announcements.map(announced),
    world.memories_waiting > 0 && badge(t("memories_waiting", { count: world.memories_waiting }), "warn"),
  ].filter(Boolean);
  const words = badges.map((b) => b.textContent).join();
  if ($("badges").dataset.words !== words) {
    $("badges").replaceChildren(...badges);
    $("badges").dataset.words = words;
  }
}

/** What is wrong with content files that were changed. */
function showErrors(errors) {
  $("content-errors").hidden = !errors.length;
  $("errors").replaceChildren(...errors.map((line) => h("li", {}, line)));
}

/** How much of the day's budget of model calls is left, where it has limits. */
function left({ calls, tokens, exhausted }) {
  const look = exhausted ? "warn" : "";
  const shown = ({ left, limit }) => ({ left: left.toLocaleString("en"), limit: limit.toLocaleString("en") });
  return [
    calls && badge(t("calls_left", shown(calls)), look),
    tokens && badge(t("tokens_left", shown(tokens)), look),
  ];
}

const ticksFor = (minutes) => Math.ceil(minutes / now.world.tick_minutes);

/** The world lives on, and the page shows how: the button rests until it is there. */
async function tick(minutes) {
  await api("/world/tick", { method: "POST", body: { ticks: ticksFor(minutes), wait: false } });
  for (await refresh(); now.world.moving; await refresh()) await new Promise((resolve) => setTimeout(resolve, MOVING_MS));
}

/** A world may have long ticks: the buttons say what a press really brings. */
function showSteps() {
  if ($("ticks").childElementCount) return;
  const steps = new Set(STEPS.map((minutes) => ticksFor(minutes) * now.world.tick_minutes));
  $("ticks").append(...[...steps].map(stepButton));
}

function stepButton(minutes) {
  const [key, unit] = [["plus_days", 1440], ["plus_hours", 60], ["plus_minutes", 1]].find(([, size]) => minutes % size === 0);
  const onclick = (event) => act(event.currentTarget, () => tick(minutes));
  return h("button", { type: "button", "data-minutes": minutes, onclick }, t(key, { count: minutes / unit }));
}

/** Play or pause, and how fast; a choice that is under way is left alone. */
function showClock() {
  const { clock, moving } = now.world;
  const running = clock.mode === "running" || moving;
  setText($("play"), t(running ? "pause" : "play"));
  $("play").dataset.running = running;
  const speeds = [...new Set([...SPEEDS, clock.speed])].sort((a, b) => a - b);
  if ($("speed").dataset.speeds !== speeds.join()) {
    $("speed").dataset.speeds = speeds.join();
    $("speed").replaceChildren(...speeds.map((speed) => h("option", { value: speed }, t("speed_value", { speed }))));
  }
  if (document.activeElement !== $("speed")) $("speed").value = clock.speed;
  if (document.activeElement !== $("weather")) $("weather").value = now.world.weather;
}

const setClock = (body) => api("/world/clock", { method: "PUT", body });
const setWorld = (body) => api("/world", { method: "PATCH", body });

$("play").addEventListener("click", () =>
  act($("play"), () =>
    $("play").dataset.running === "true"
      ? api("/world/stop", { method: "POST" })
      : setClock({ mode: "running", speed: Number($("speed").value) })),
);
$("speed").addEventListener("change", () => act($("speed"), () => setClock({ speed: Number($("speed").value) })));
$("set-weather").addEventListener("submit", (event) => {
  event.preventDefault();
  act(event.submitter, () => setWorld({ weather: $("weather").value.trim() }));
});
$("announce").addEventListener("submit", (event) => {
  event.preventDefault();
  act(event.submitter, async () => {
    await setWorld({ announce: { text: $("text").value.trim(), minutes: Number($("minutes").value) } });
    $("text").value = "";
  });
});

// ---- map -----------------------------------------------------------------------------------------------------------

const legs = new Map(); // where everybody is and goes, by id
const clock = new Following(0);
let way = null; // the shortest ways
let heardMs = null;

const past = new Past({
  way: (from, to) => way(from, to),
  live: () => now.world,
  changed: () => (village.wake(), showLooked()),
});
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
const shownAt = () => (past.isShown ? past.now(performance.now()) : clock.at(performance.now()));

const village = new Village($("map"), {
  now: (ms) => (past.isShown ? past.now(ms) : clock.at(ms)),
  isMoving: (ms) => (past.isShown ? past.isMoving() : clock.at(ms) < clock.until),
  get legs() { return past.isShown ? past.legs : legs; },
  get people() { return past.isShown ? now.people.map((one) => ({ ...one, talking_in: null })) : now.people; },
  lines: saidAt,
  shown: (at) => past.shown(at),
}, { person: look, crowd: lookAtCrowd, talk: hearTalk, map: turnTo });

async function readMap() {
  now.map = await api("/world/map");
  way = waysOf(now.map);
  if (now.mapId) showGround();
}

/** Who set out since the page asked last; where more did than are told at once, where people are now has to do. */
async function readWalks() {
  const at = minuteOf(now.world.now);
  const query = new URLSearchParams({ kind: "departed", limit: lastWalk === null ? 1 : 1000, order: lastWalk === null ? "desc" : "asc" });
  if (lastWalk) query.set("after", lastWalk);
  const { items, next } = await api(`/world/events?${query}`);
  if (lastWalk !== null && !next) items.forEach(setOut);
  lastWalk = lastWalk !== null && next ? null : items.at(-1)?.id ?? lastWalk ?? 0;
  for (const { id, position } of now.people) {
    if (position) correct(legsOf(id), way, position, at);
    else legs.delete(id);
  }
  for (const id of legs.keys()) if (!person(id)) legs.delete(id);
  goOn(at);
}

function setOut({ at, person_id: id, data: { from_node_id: from, to_node_id: to, arrives_at: arrives } }) {
  follow(legsOf(id), walk(way, from, to, minuteOf(at), minuteOf(arrives)));
}

function legsOf(id) {
  if (!legs.has(id)) legs.set(id, []);
  const own = legs.get(id);
  if (own.length > 50) own.splice(0, 25);
  return own;
}

/** The map follows the world's clock as smoothly as the page hears of it, and never shows what is not known yet. */
function goOn(at) {
  const ms = performance.now();
  const { clock: { mode, speed }, moving } = now.world;
  const asked = heardMs === null ? EVERY_MS : Math.min(ms - heardMs, 2 * EVERY_MS);
  const between = mode === "running" ? Math.max(asked * 1.2, (60_000 / speed) * 1.1) : moving ? asked * 1.2 : 0;
  const steps = Math.min((at - clock.at(ms)) * STEP_MS, EVERY_MS);
  if (at !== clock.until) clock.hear(at, ms, heardMs === null || isStill.matches ? 0 : Math.max(between, steps));
  heardMs = ms;
  past.hear(now.world);
}

/** The world was brought back to an earlier moment: nothing that was shown holds. */
function startAnew() {
  legs.clear();
  lastWalk = heardMs = null;
  forgetTalks();
}

function showGround() {
  village.show(now.map, now.mapId, data.backgrounds[now.mapId]);
  $("maps").replaceChildren(...Object.entries(now.map.maps).map(([id, name]) => tab(id, name)));
  $("maps").hidden = Object.keys(now.map.maps).length < 2;
}

function showMap() {
  const isFirst = village.mapId !== now.mapId;
  if (isFirst) showGround();
  village.weather = now.world.weather;
  village.chosen = now.watched;
  village.wake();
  if (isFirst) village.lookAt(now.watched ?? now.chosen);
  showLooked();
}

function tab(id, name) {
  return h("button", { type: "button", "aria-pressed": String(id === now.mapId), onclick: () => turnTo(id) }, name);
}

function turnTo(mapId) {
  const hadFocus = $("maps").contains(document.activeElement);
  now.mapId = mapId;
  village.followed = null;
  showMap();
  if (hadFocus) $("maps").querySelector("[aria-pressed=true]").focus();
}

/** Looks at somebody: the card beside the map tells of it. */
function look(id) {
  now.watched = id;
  if (village.followed && village.followed !== id) village.followed = null;
  if (person(id).kind === "character") now.chosen = id;
  showMap();
  showPeople();
  showActions();
}

function showLooked() {
  showWatched(person(now.watched), {
    at: shownAt(),
    placeOf: (one) => (past.isShown ? "" : placeOf(one)),
    isFollowed: village.followed === now.watched,
    isPast: past.isShown,
    onFollow: () => {
      village.followed = village.followed === now.watched ? null : now.watched;
      toMapOf(now.watched);
      village.lookAt(now.watched);
      showMap();
    },
    onClose: lookAway,
  }).catch(complain);
}

function lookAtCrowd(people) {
  now.watched = village.followed = null;
  showCrowd(people, look, lookAway);
}

function lookAway() {
  now.watched = village.followed = null;
  hide();
  showMap();
  showPeople();
  $("map").focus();
}

function hearTalk(talkId) {
  const speaker = saidAt(shownAt()).find((line) => line.talk === talkId)?.speaker;
  if (past.isShown || !person(speaker)?.talking_in) location.assign(link(`/view/conversations/${talkId}`));
  else look(speaker);
}

function toMapOf(id) {
  const there = mapOf(person(id)?.position?.node_id);
  if (there && there !== now.mapId) now.mapId = there;
}

for (const [button, step] of [["nearer", 1], ["further", -1]]) {
  $(button).addEventListener("click", () => village.zoomBy(step));
}

// ---- people --------------------------------------------------------------------------------------------------------

const rows = new Map();

function showPeople() {
  const here = new Set(now.people.map((one) => one.id));
  for (const [id, { item }] of rows) {
    if (!here.has(id)) (item.remove(), rows.delete(id));
  }
  for (const one of now.people) {
    if (!rows.has(one.id)) rows.set(one.id, one.kind === "character" ? characterRow(one) : standingRow(one));
    const { item, place, talk, needs } = rows.get(one.id);
    if (!item.isConnected) $(`${one.kind}s`).append(item);
    setText(place, isOnItsWay(one) || one.kind !== "character" ? placeOf(one) : `${placeOf(one)} · ${doing(one.activity)}`);
    if (needs) showNeeds(needs, now.lives.find((life) => life.id === one.id)?.needs ?? []);
    item.classList.toggle("chosen", one.id === now.chosen);
    item.querySelector("button")?.setAttribute("aria-pressed", String(one.id === now.chosen));
    talk.hidden = !one.talking_in;
    if (one.talking_in) talk.href = link(`/view/conversations/${one.talking_in}`);
  }
  $("act").parentElement.hidden = !now.chosen;
  $("characters").hidden = !now.chosen;
  $("no-characters").hidden = Boolean(now.chosen);
  $("players-here").hidden = !$("players").childElementCount;
}

function showNeeds(box, needs) {
  const words = JSON.stringify(needs);
  if (box.dataset.words === words) return;
  box.dataset.words = words;
  box.replaceChildren(bars(needs));
}

/** Whether where it is says already what it does. */
function isOnItsWay({ position, activity }) {
  return Boolean(position.walking_to) && activity?.action_id === "walk";
}

function placeOf({ position }) {
  if (!position.walking_to) return t("at_place", { place: position.place });
  return t("walking", { place: nodeName(position.walking_to), time: hour(position.arrives_at) });
}

function characterRow(one) {
  const place = h("span", { class: "quiet" });
  const needs = h("span", {});
  const talk = h("a", { class: "badge live", hidden: true }, t("talking"));
  const button = h(
    "button", { type: "button", onclick: () => choose(one.id), "data-character": one.id },
    face(one.id, "character"), h("span", {}, h("strong", {}, one.name), place, needs),
  );
  return { item: h("li", {}, button, talk), place, talk, needs };
}

function standingRow(one) {
  const place = h("span", { class: "quiet" });
  const talk = h("a", { class: "badge live", hidden: true }, t("talking"));
  const called = h("strong", {}, one.name);
  const name = one.kind === "npc" ? h("a", { href: link(`/view/npcs/${one.id}`) }, called) : called;
  return { item: h("li", {}, face(one.id, one.kind), h("span", {}, name, place), talk), place, talk };
}

function choose(characterId) {
  toMapOf(characterId);
  look(characterId);
  village.lookAt(characterId);
}

// ---- what the chosen character does --------------------------------------------------------------------------------

async function showActions() {
  const one = person(now.chosen);
  if (!one) return;
  setText($("act-title"), t("acting", { name: one.name }));
  const { beside } = await api(`/characters/${one.id}`).catch((error) => (complain(error), { beside: [] }));
  if (now.chosen !== one.id) return;
  const options = now.people
    .filter((other) => other.id !== one.id && other.kind !== "player"
      && (other.kind === "npc" || beside.includes(other.id)))
    .map((npc) => ({ id: npc.id, near: beside.includes(npc.id), name: npc.name }))
    .sort((a, b) => Number(b.near) - Number(a.near));
  const words = JSON.stringify(options);
  if ($("partner").dataset.words !== words) {
    const partner = $("partner").value;
    $("partner").dataset.words = words;
    const option = ({ id, near, name }) => h("option", { value: id }, near ? t("beside", { name }) : name);
    $("partner").replaceChildren(...options.map(option));
    if (partner) $("partner").value = partner;
  }
  const until = one.position.arrives_at && minutesBetween(now.world.now, one.position.arrives_at);
  $("arrive").hidden = !until;
  if (until) setText($("arrive"), t("until_arrival", { count: until }));
  $("arrive").dataset.minutes = until || 0;
  showMemoryLink();
}

function showMemoryLink() {
  $("memory").href = link(`/view/characters/${now.chosen}`, { about: $("partner").value });
}

async function act(button, work) {
  await pressed(button, async () => {
    await work();
    await refresh();
  });
}

const order = (body) => api(`/characters/${now.chosen}/actions`, { method: "POST", body });

$("partner").addEventListener("change", showMemoryLink);
$("walk").addEventListener("click", () => act($("walk"), () => order({ type: "move", npc_id: $("partner").value })));
$("sleep").addEventListener("click", () => act($("sleep"), () => order({ type: "sleep" })));
$("arrive").addEventListener("click", () => act($("arrive"), () => tick(Number($("arrive").dataset.minutes))));
$("act").addEventListener("submit", (event) => {
  event.preventDefault();
  pressed($("talk"), async () => {
    const body = { character_id: now.chosen, npc_id: $("partner").value };
    if ($("goal").value.trim()) body.goal = $("goal").value.trim();
    if ($("criteria").value.trim()) body.success_criteria = $("criteria").value.trim();
    const { id } = await api("/conversations/start", { method: "POST", body });
    location.assign(link(`/view/conversations/${id}`));
  });
});

// ---- conversations and events --------------------------------------------------------------------------------------

function showConversations(items) {
  const words = JSON.stringify(items);
  if (words === shownConversations) return;
  shownConversations = words;
  const all = items.map(talkRow);
  $("conversations").replaceChildren(...(all.length ? all : [h("li", { class: "quiet" }, t("no_conversations"))]));
}

/** Which events are asked for. */
function asked(more) {
  const query = new URLSearchParams({ order: "desc", limit: EVENTS_SHOWN, ...more });
  if ($("kind").value) query.set("kind", $("kind").value);
  if ($("who").value) query.set("involving", $("who").value);
  return api(`/world/events?${query}`);
}

/** What is new is set before the rest; the first time, only the newest are asked for: a day of many people is long. */
async function readEvents() {
  const { items, next, timeline: now } = await asked({ after: lastEvent });
  if (lastEvent && now !== timeline) {
    startAnew(); // the world was restored: other things have happened
    return readEventsAnew();
  }
  timeline = now;
  if (!lastEvent) {
    older = next;
    $("events").replaceChildren(...(items.length ? [] : [h("li", { class: "quiet" }, t("no_events"))]));
  } else if (next || $("events").childElementCount > EVENTS_KEPT) {
    return readEventsAnew(); // more happened than is shown at once: no gap may stay
  }
  if (items.length) lastEvent = items[0].id;
  learnNames(items);
  $("events").prepend(...items.map(eventRow));
  $("older").hidden = !older;
}

function readEventsAnew() {
  lastEvent = 0;
  return readEvents();
}

async function readOlder() {
  const { items, next } = await asked({ after: older });
  older = next;
  learnNames(items);
  $("events").append(...items.map(eventRow));
  $("older").hidden = !older;
}

$("kind").append(...kinds.map((kind) => h("option", { value: kind }, t(`kind_${kind}`))));
for (const choice of ["kind", "who"]) {
  $(choice).addEventListener("change", () => {
    reading = reading.then(readEventsAnew, readEventsAnew);
    reading.then(calm, complain);
  });
}
$("older").addEventListener("click", () => pressed($("older"), readOlder));

/** Who was made or removed is called so in the events from then on, and those before. */
function learnNames(items) {
  for (const { person_id, data } of items) if (data.person_kind && data.name !== person_id) called.set(person_id, data.name);
}

function eventRow({ at, kind, person_id, data }) {
  const key = `event_${kind}`;
  const facts = { ...data, person: nameOf(person_id), npc: nameOf(data.partner_id) };
  facts.place = nodeName(data.to_node_id ?? data.node_id);
  facts.what = data.what ?? whatOf(data); // a promise is in words
  if (kind === "action_failed") facts.why = t(`why_${data.reason}`);
  if (kind === "clock_stopped") facts.why = t(`stopped_${data.reason}`);
  if (kind === "reflected") facts.insights = data.insights.join(t("comma")) || "—";
  if (kind === "weather") facts.weather = data.weather || "—";
  if (kind === "carries") facts.items = [...data.given.map((i) => `+${i}`), ...data.taken.map((i) => `−${i}`)].join(t("comma"));
  const text = has(key) ? t(key, facts) : kind;
  const talk = data.conversation_id;
  const told = talk ? h("a", { href: link(`/view/conversations/${talk}`) }, text) : h("span", {}, text);
  return h("li", {}, h("time", {}, when(at)), h("span", {}, told, data.thought && h("span", { class: "quiet" }, ` ${data.thought}`)));
}

/** What is done, where or with whom. */
function whatOf({ action_id, facility_id, target_id }) {
  const where = target_id ? nameOf(target_id) : now.map.facilities.find((f) => f.id === facility_id)?.name;
  return [actions[action_id] ?? action_id, where].filter(Boolean).join(" · ");
}

// ---- the page's own clock ------------------------------------------------------------------------------------------

let failed = false;

async function again() {
  try {
    if (!document.hidden) {
      await refresh();
      if (failed) calm();
      failed = false;
    }
  } catch (error) {
    failed = true;
    complain(error);
  }
  setTimeout(again, EVERY_MS);
}

again();
