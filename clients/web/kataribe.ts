// Owns the way to a Kataribe service: what a player does is a call, what it hears comes as typed events.

import type { components } from "./api.js";

type Schemas = components["schemas"];
export type WorldMap = Schemas["MapOut"];
export type Person = Schemas["PersonOut"];
export type Started = Partial<Schemas["StartIn"]>;
/** What is told of a conversation: `kind` says what `data` is (docs/client-events.md). */
export type GameEvent = Schemas["Updates"]["items"][number];

const AGAIN_MS = 1000;

/** The service has refused; the message is a sentence that says why. */
export class Refused extends Error {
  constructor(readonly status: number, readonly problem: Partial<Schemas["Problem"]>) {
    super(problem.detail ?? `HTTP ${status}`);
  }
}

export interface Options {
  playerId: string;
  url?: string;
  worldId?: string;
  apiKey?: string;
  /** In which language the service says why it refuses: "en" or "ja". */
  language?: string;
}

/** A player in a world. What the service refuses is thrown as Refused; where it is away, fetch throws a TypeError. */
export class Kataribe {
  constructor(private readonly options: Options) {}

  world = () => this.ask<Schemas["WorldOut"]>("GET", "/world");
  map = () => this.ask<WorldMap>("GET", "/world/map");

  async people(): Promise<Person[]> {
    return (await this.ask<Schemas["PeopleOut"]>("GET", "/world/people")).people;
  }

  /** Makes the player, if it is new. */
  join = (name: string) => this.ask<Schemas["PersonDetail"]>("PUT", this.person(), { kind: "player", name });

  /** Puts the player on a node of the map; null: nowhere. */
  stand = (node_id: string | null) => this.ask<Schemas["PersonDetail"]>("PUT", `${this.person()}/position`, { node_id });

  /** Begins to talk with somebody beside the player. `more`: other fields of POST /conversations/start. */
  async start(partner_id: string, more: Started = {}): Promise<Talk> {
    const body = { mode: "player", player_id: this.options.playerId, partner_id, ...more };
    return this.talk((await this.ask<Schemas["ConversationOut"]>("POST", "/conversations/start", body)).id);
  }

  /** Sits down with those who talk beside the player: it speaks next. */
  async sitDown(id: string): Promise<Talk> {
    await this.seat(id, "join");
    return this.talk(id);
  }

  /** Somebody who gets up from a table, or sits down at it. */
  seat = (id: string, way: "join" | "leave", person_id = this.options.playerId) =>
    this.ask<Schemas["ConversationDetail"]>("POST", `/conversations/${id}/${way}`, { person_id });

  /** A conversation that runs: what was told of it is told again. */
  talk = (id: string) => new Talk(this, id);

  /** The answer to a request; typed by whoever asks. */
  async ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.send(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
    return (await response.json()) as Answer;
  }

  async send(path: string, init: RequestInit): Promise<Response> {
    const { url = "http://127.0.0.1:8010", worldId = "main", apiKey, language } = this.options;
    const headers = new Headers(init.headers);
    headers.set("X-World-Id", worldId);
    if (init.body) headers.set("Content-Type", "application/json");
    if (apiKey) headers.set("Authorization", `Bearer ${apiKey}`);
    if (language) headers.set("Accept-Language", language);
    const response = await fetch(url + path, { ...init, headers });
    if (response.ok) return response;
    throw new Refused(response.status, await response.json().catch(() => ({})));
  }

  private person = () => `/people/${this.options.playerId}`;
}

/** A conversation of the player. */
export class Talk {
  /** What was told last of the words that are being spoken, or were spoken last, by the other. */
  utteranceId = "";
  text = "";
  private position = "0";
  private hasEnded = false;
  private hasLeft = false;

  constructor(private readonly client: Kataribe, readonly id: string) {}

  /** `more`: other fields of POST /conversations/{id}/say. Sent again under the same `message_id`, it is said once. */
  say = (text: string, more: Partial<Schemas["SayIn"]> = {}) =>
    this.post<Schemas["SaidOut"]>("say", { text, message_id: crypto.randomUUID(), ...more });

  /** Says it to one who is there: nobody else hears it, or the answer. */
  whisper = (to: string, text: string) => this.say(text, { to, loudness: "whisper" });

  /** Asks somebody who stands beside to sit down, too. */
  invite = (person_id: string) => this.client.seat(this.id, "join", person_id);

  /** The player gets up, and the others go on without it. */
  async leave(): Promise<void> {
    this.hasLeft = true;
    await this.client.seat(this.id, "leave");
  }

  /** Says one of the lines of `choices`, which come where `start` asks for them: `{ choices: 3 }`. */
  choose = (choice_id: string) => this.post<Schemas["SaidOut"]>("choose", { choice_id });

  /** Cuts the other short: only so many characters of its words were heard, and only they are remembered. */
  interrupt = (heard_chars = [...this.text].length) =>
    this.post<Schemas["ConversationDetail"]>("interrupt", { utterance_id: this.utteranceId, heard_chars });

  /** What became of an `action.requested`: once, before its deadline. */
  settle = (call_id: string, ok: boolean, message = "") =>
    this.post<Schemas["ActionCallOut"]>(`actions/${call_id}/result`, { ok, message });

  end = () => this.post<Schemas["ConversationDetail"]>("end");

  /** All that is told, until the conversation is remembered. A lost connection is made again, without a gap. */
  async *events(): AsyncGenerator<GameEvent> {
    for (;;) {
      try {
        const headers = { Accept: "text/event-stream", "Last-Event-ID": this.position };
        const { body } = await this.client.send(`/conversations/${this.id}/stream`, { headers });
        if (!body) return; // 204: all was told before
        for await (const { id, data } of blocks(body)) {
          const event = JSON.parse(data) as GameEvent;
          this.position = id;
          this.hear(event);
          yield event;
          if (this.hasEnded && this.hasLeft) return; // what the others say now it does not hear
        }
        if (this.hasEnded) return;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // what fetch throws where nobody answers
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  private hear({ kind, data }: GameEvent): void {
    if (kind === "utterance.started") {
      this.utteranceId = data.utterance_id;
      this.text = "";
    } else if (kind === "utterance.delta") {
      this.text = [...this.text].slice(0, data.char_start).join("") + data.text;
    } else if (kind === "conversation.ended") {
      this.hasEnded = true;
    }
  }

  private post<Answer>(way: string, body: unknown = {}): Promise<Answer> {
    return this.client.ask<Answer>("POST", `/conversations/${this.id}/${way}`, body);
  }
}

/** The events of a text/event-stream that have data. */
async function* blocks(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id: string; data: string }> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
    rest = whole.pop() ?? "";
    for (const block of whole) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1] ?? "";
      if (field("data")) yield { id: field("id"), data: field("data") };
    }
  }
}
