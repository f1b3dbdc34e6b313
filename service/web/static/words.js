// Owns what people say on the map: the turns of the talks that are heard or were, and which of them is said at a moment.

import { api } from "./api.js";
import { minuteOf } from "./walk.js";

const AT_ONCE = 4; // talks that are asked for at one time
const LINGERS = 3; // world minutes for which a line stays when nothing follows it

const talks = new Map(); // id -> {id, people, from, until, turns, phase, isAsked}

/** Takes in conversations as the API lists them; what is asked for already keeps its turns. */
export function hearOf(items) {
  for (const one of items) {
    const known = talks.get(one.id);
    const until = one.ended_at ? minuteOf(one.ended_at) : Infinity;
    if (known && (known.isWhole || known.phase === one.phase)) Object.assign(known, { until, phase: one.phase, isAsked: known.isWhole });
    else talks.set(one.id, { turns: [], ...known, id: one.id, from: minuteOf(one.started_at), until, phase: one.phase, isAsked: false, isWhole: false });
  }
}

/** Forgets all: the world was brought back to an earlier moment. */
export const forgetTalks = () => talks.clear();

/** Asks for the turns of talks that go on at that moment and are not known yet; true: something new came. */
export async function listen(at, first) {
  const wanted = [...talks.values()].filter((one) => !one.isAsked && one.from <= at + 1 && at <= one.until + LINGERS);
  wanted.sort((a, b) => (b.id === first) - (a.id === first) || b.from - a.from);
  const heard = await Promise.all(wanted.slice(0, AT_ONCE).map(read));
  return heard.some(Boolean);
}

async function read(talk) {
  talk.isAsked = true;
  const { turns, phase } = await api(`/conversations/${talk.id}`);
  const isNews = turns.length > talk.turns.length;
  talk.turns = turns.map((turn) => ({ ...turn, minute: minuteOf(turn.at) }));
  talk.isWhole = phase !== "running";
  talk.isAsked = talk.isWhole;
  return isNews;
}

/** The lines in the air at that moment, the last of each talk: {talk, speaker, text, act, turn}. */
export function saidAt(at) {
  const lines = [];
  for (const talk of talks.values()) {
    if (talk.from > at || talk.until <= at) continue;
    const turn = talk.turns.findLast((one) => one.minute <= at);
    if (!turn || at - turn.minute > LINGERS) continue;
    lines.push({ talk: talk.id, speaker: turn.speaker_id, text: turn.text, act: turn.act ?? "", turn: turn.turn });
  }
  return lines;
}

/** What has been said in a talk by that moment. */
export const turnsOf = (talkId, at) => (talks.get(talkId)?.turns ?? []).filter((turn) => turn.minute <= at);
