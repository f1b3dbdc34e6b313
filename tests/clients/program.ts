// A small client as a game would write it: it compiles under --strict only while the description says what is meant.
import type { components, operations, paths } from "./api";

type Start = components["schemas"]["StartIn"];
type Tick = components["schemas"]["TickIn"];

// What has a default need not be sent.
const start: Start = { character_id: "aoi", partner_id: "npc_taro" };
const tick: Tick = {};
const sleep: operations["act"]["requestBody"]["content"]["application/json"] = { type: "sleep" };

type Started = operations["startConversation"]["responses"][202]["content"]["application/json"];
type Told = paths["/conversations/{conversation_id}"]["get"]["responses"][200]["content"]["application/json"];
type Memory = operations["readMemory"]["responses"][200]["content"]["application/json"];
type Problem = components["schemas"]["Problem"];

export function follow(started: Started): string {
  return started.links.events;
}

export function said(told: Told): string[] {
  return told.turns.map((turn) => `${turn.turn} ${turn.speaker_name}: ${turn.text}`);
}

export function learned(memory: Memory): string[] {
  return memory.facts.map((fact) => fact.line);
}

export function why(problem: Problem): string {
  return `${problem.status} ${problem.detail}`;
}

export const bodies: string[] = [start, tick, sleep].map((body) => JSON.stringify(body));
