// Owns the game: the player walks, talks with whom it stands beside, and sees the words come.

import { Kataribe, Refused, type GameEvent, type Person, type Talk } from "./kataribe.js";
import { Ground, isArrow } from "./map.js";
import { language, t } from "./texts.js";

const LOOK_MS = 3000;
const CHOICES = 3;

const $ = <E extends Element = HTMLElement>(id: string): E => document.getElementById(id) as unknown as E;
const query = new URLSearchParams(location.search);
const me = (localStorage["kataribe-player"] ??= `player-${Math.random().toString(36).slice(2, 10)}`) as string;
const client = new Kataribe({
  playerId: me,
  language,
  url: query.get("service") ?? "http://127.0.0.1:8010",
  worldId: query.get("world_id") ?? "main",
  apiKey: query.get("key") ?? "",
});

const words = $<HTMLFormElement>("say").elements.namedItem("text") as HTMLInputElement;
const ears = $<HTMLSelectElement>("ears");

let ground: Ground;
let here = "";
let isWalking = false;
let people: Person[] = [];
let near: Person[] = []; // with whom the player may talk
let talk: Talk | null = null;
let names = new Map<string, string>(); // of those who talk
let lines = new Map<number, HTMLElement>(); // by turn
let speaking: HTMLElement | null = null; // what the other is saying

/** Does what a person has asked for; what goes wrong is shown. */
async function act(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    $("notice").hidden = true;
  } catch (error) {
    if (!(error instanceof Refused || error instanceof TypeError)) throw error;
    complain(error instanceof Refused ? error.message : t("away"));
  }
}

function complain(why: string): void {
  $("notice").textContent = why;
  $("notice").hidden = false;
}

// ---- walking -------------------------------------------------------------------------------------------------------

async function begin(name: string): Promise<void> {
  const [world, map, known] = [await client.world(), await client.map(), await client.join(name)];
  localStorage["kataribe-name"] = name;
  ground = new Ground(map);
  $("world").textContent = world.name;
  $("join").hidden = true;
  $("game").hidden = false;
  here = known.position?.node_id ?? ground.entrance;
  if (!known.position) await client.stand(here);
  await look();
}

async function step(key: string): Promise<void> {
  const to = isWalking ? null : ground.toward(here, key);
  if (!to) return;
  isWalking = true;
  try {
    await client.stand(to);
    here = to;
    people = await client.people();
  } finally {
    isWalking = false;
  }
  show();
}

/** Others walk too, where the world's clock runs; and somebody may have spoken to the player. */
async function look(): Promise<void> {
  people = await client.people().catch(() => people);
  show();
  setTimeout(look, LOOK_MS);
  const begun = people.find((one) => one.id === me)?.talking_in;
  if (begun && !talk) void act(() => converse(client.talk(begun)));
}

function show(): void {
  const beside = ground.beside(here, people).filter((one) => one.id !== me);
  near = beside.filter((one) => one.kind !== "player" && !names.has(one.id));
  ground.draw($<SVGSVGElement>("map"), here, people, me, beside);
  const place = people.find((one) => one.id === me)?.position?.place ?? "";
  const who = beside.map((one) => one.name).join(t("comma"));
  const told = who ? t("beside", { place, names: who }) : place;
  if ($("here").textContent !== told) $("here").textContent = told;
  $("game").classList.toggle("talking", talk !== null);
  const shown = JSON.stringify([near.map((one) => [one.name, one.talking_in]), talk !== null]);
  if ($("near").dataset["who"] === shown) return;
  $("near").dataset["who"] = shown;
  $("near").replaceChildren(...(talk ? near.filter((one) => !one.talking_in).map(asking) : near.length ? near.map(greeting) : [t("nobody")]));
}

const greeting = (one: Person, index: number): HTMLElement =>
  button(t(one.talking_in ? "sit" : "talk", { name: one.name }) + (index ? "" : " (Enter)"), () => meet(one));

const asking = (one: Person): HTMLElement => button(t("ask", { name: one.name }), async () => talk?.invite(one.id));

// ---- talking -------------------------------------------------------------------------------------------------------

async function meet(one = near[0]): Promise<void> {
  if (!one || talk) return;
  await converse(one.talking_in ? await client.sitDown(one.talking_in) : await client.start(one.id, { choices: CHOICES }));
}

async function converse(begun: Talk): Promise<void> {
  talk = begun;
  lines = new Map();
  $("said").replaceChildren();
  turnOf("me");
  show();
  try {
    for await (const event of talk.events()) hear(talk, event);
  } finally {
    talk = null;
    names = new Map();
    turnOf("nobody");
    showTable();
  }
}

function hear(talk: Talk, { kind, data }: GameEvent): void {
  switch (kind) {
    case "conversation.started":
      names = new Map(data.people.map((one) => [one.person_id, one.name]));
      showTable();
      break;
    case "npc.thinking": // of more than two it need not be the player's turn now
      if (names.size > 2) turnOf("nobody");
      break;
    case "utterance.started":
      speaking = lineOf(data.turn, data.speaker_id);
      turnOf("other");
      break;
    case "utterance.delta":
      if (speaking) write(speaking, talk.text);
      break;
    case "utterance.completed":
      write(lineOf(data.turn, data.speaker_id), data.text);
      if (data.loudness === "whisper") whispered(data.turn);
      if (data.speaker_id !== me) turnOf("me");
      break;
    case "utterance.discarded":
      speaking?.closest("li")?.remove();
      lines.forEach((line, turn) => line.isConnected || lines.delete(turn));
      turnOf("me");
      break;
    case "choices":
      $("choices").replaceChildren(...data.choices.map(({ id, text }) => button(text, () => talk.choose(id))));
      $("said").lastElementChild?.scrollIntoView({ block: "end" });
      break;
    case "action.requested": // here a game would do it, or say why it cannot
      tell(t("asked", { name: names.get(data.person_id), action: data.action_id, args: Object.values(data.args).join(t("comma")) }));
      void act(() => talk.settle(data.call_id, true));
      break;
    case "affinity.changed":
      if (data.other_id === me) tell(t("likes", { name: names.get(data.person_id), before: data.before, after: data.after }));
      break;
    case "memory.changed":
      if (data.person_id !== me) tell(t("remembered", { name: names.get(data.person_id) }));
      break;
    case "conversation.ended":
      tell(t("over"));
      turnOf("nobody");
      break;
    case "world.restored": // a game would read anew what it shows
      location.reload();
      break;
    case "error":
      complain(data.detail);
  }
}

/** Shows who is there, and lets the player choose who hears it. */
function showTable(): void {
  const others = [...names].filter(([id]) => id !== me);
  const there = others.map(([, name]) => name).join(t("comma"));
  $("table").textContent = there && t("table", { names: there });
  const before = ears.value;
  ears.replaceChildren(new Option(t("aloud"), ""), ...others.map(([id, name]) => new Option(t("whisper", { name }), id)));
  ears.value = others.some(([id]) => id === before) ? before : "";
  ears.hidden = others.length < 2;
  show();
}

/** Marks a line that not all have heard. */
function whispered(turn: number): void {
  lines.get(turn)!.previousElementSibling!.textContent += ` ${t("whispered")}`;
  lines.get(turn)!.dataset["whispered"] = "";
}

/** Shows what may be done now. */
function turnOf(whose: "me" | "other" | "nobody"): void {
  if (whose !== "other") speaking = null;
  document.querySelector(".speaking")?.classList.toggle("speaking", speaking !== null);
  speaking?.classList.add("speaking");
  $("choices").replaceChildren();
  $("interrupt").hidden = whose !== "other";
  $("say").hidden = $("end").hidden = whose !== "me";
  if (whose === "me") words.focus({ preventScroll: true });
  $("said").lastElementChild?.scrollIntoView({ block: "end" });
}

/** The line of a turn, which is there or is begun. */
function lineOf(turn: number, speakerId: string): HTMLElement {
  const line = lines.get(turn) ?? document.createElement("span");
  if (!lines.has(turn)) {
    const who = document.createElement("strong");
    who.textContent = speakerId === me ? t("you") : (names.get(speakerId) ?? speakerId);
    add(speakerId === me ? "mine" : "", who, line);
    lines.set(turn, line);
  }
  return line;
}

function add(look: string, ...inside: Node[]): void {
  const item = document.createElement("li");
  item.className = look;
  item.append(...inside);
  $("said").append(item);
  item.scrollIntoView({ block: "end" });
}

const tell = (text: string): void => add("told", document.createTextNode(text));

function write(line: HTMLElement, text: string): void {
  line.textContent = text;
  line.scrollIntoView({ block: "end" });
}

function button(text: string, work: () => Promise<unknown>): HTMLElement {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", () => act(work));
  return made;
}

const interrupt = () => act(async () => speaking && talk?.interrupt());
const end = () => act(async () => (names.size > 2 ? talk?.leave() : talk?.end()));

// ---- keys and buttons ----------------------------------------------------------------------------------------------

document.documentElement.lang = language;
for (const one of document.querySelectorAll<HTMLElement>("[data-text]")) one.textContent = t(one.dataset["text"] as never);
$("map").setAttribute("aria-label", t("map"));
words.setAttribute("aria-label", t("say"));
ears.setAttribute("aria-label", t("ears"));
const name = $<HTMLFormElement>("join").elements.namedItem("name") as HTMLInputElement;
name.value = localStorage["kataribe-name"] ?? "";
name.focus();

$("join").addEventListener("submit", (event) => {
  event.preventDefault();
  void act(() => begin(name.value.trim()));
});
$("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = words.value.trim();
  const said = () => (ears.value ? talk?.whisper(ears.value, text) : talk?.say(text));
  if (text) void act(async () => (await said(), (words.value = "")));
});
$("interrupt").addEventListener("click", interrupt);
$("end").addEventListener("click", end);
for (const one of document.querySelectorAll<HTMLElement>("#pad button")) {
  one.addEventListener("click", () => act(() => step(one.dataset["key"]!)));
}
addEventListener("keydown", (event) => {
  if ($("game").hidden) return;
  if (event.key === "Escape") void (speaking ? interrupt() : end());
  if (talk || event.target instanceof HTMLInputElement) return;
  if (isArrow(event.key)) {
    event.preventDefault();
    void act(() => step(event.key));
  } else if (event.key === "Enter" && !(event.target instanceof HTMLButtonElement)) {
    event.preventDefault();
    void act(() => meet());
  }
});
addEventListener("resize", () => $("game").hidden || show());
