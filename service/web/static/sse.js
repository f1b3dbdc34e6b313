// Owns the reading of server-sent events. They are read by fetch, for an EventSource does not tell why a server refuses.

import { Problem, request } from "./api.js";

const AGAIN_MS = 1500;

/** The events of a text/event-stream body, as {event, data, id}. */
async function* parse(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r\n\r\n|\n\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = fields(block);
      if (event.data) yield { ...event, data: JSON.parse(event.data) };
    }
  }
}

function fields(block) {
  const found = { event: "message", data: "", id: null };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (name === "data") found.data += found.data ? `\n${value}` : value;
    else if (name in found) found[name] = value;
  }
  return found;
}

/**
 * Calls `heard(event)` for each event until it answers true. A lost connection is made again from the last id;
 * `lost(true)` and `lost(false)` tell when that begins and ends. Throws Problem if the server refuses.
 */
export async function follow(path, heard, lost) {
  let last = null;
  for (;;) {
    try {
      const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
      const response = await request(path, { headers });
      lost(false);
      for await (const event of parse(response.body)) {
        last = event.id ?? last;
        if (heard(event)) return;
      }
    } catch (error) {
      const refused = error instanceof Problem && error.status >= 400 && error.status < 500;
      if (refused || !(error instanceof Problem || error instanceof TypeError)) throw error;
    }
    lost(true);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}
