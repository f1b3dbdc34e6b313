// Owns the way to the public HTTP API, and how its problems are shown.

import { h } from "./dom.js";
import { $, has, id, lang, link, t, world } from "./page.js";

/** What went wrong, said in the page's language. */
export class Problem extends Error {
  constructor(message, status = 0, { type = "", detail = message, errors = [], facts = null } = {}) {
    super(message);
    Object.assign(this, { status, type, detail, errors, facts });
  }
}

/** Sends a request for this page's world. Throws Problem. */
export async function request(path, { method = "GET", body, headers = {}, signal } = {}) {
  const sent = { "Accept-Language": lang, "X-World-Id": world, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(t("away"));
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const fields = (problem.errors ?? []).map((e) => `${fieldName(e.field)}: ${e.message}`);
  throw new Problem([problem.detail ?? `HTTP ${response.status}`, ...fields].join("\n"), response.status, problem);
}

/** What the page calls a field of a body. */
function fieldName(field) {
  const key = `field_${field.replace(/^body\./, "").replaceAll(".", "_")}`;
  return has(key) ? t(key) : field;
}

/** The JSON answer to a request. Throws Problem. */
export const api = async (path, options) => (await request(path, options)).json();

/** Shows a problem at the top of the page until it is dismissed or the next thing succeeds. */
export function complain(error) {
  if (error.name === "AbortError") return;
  const box = $("notice");
  const dismiss = h("button", { type: "button", "aria-label": t("dismiss"), onclick: calm }, "×");
  box.replaceChildren(h("div", {}, h("p", {}, said(error)), ...talkOf(error)), dismiss);
  box.hidden = false;
  if (!(error instanceof Problem)) throw error;
}

/** Without the id of the talk, to which a link leads. */
const said = ({ message, facts }) => message.replace(RegExp(` ?[(（]${facts?.conversation_id}[)）]`), "");

/** Who is busy is in a talk: the way there, and its end. */
function talkOf({ type, facts }) {
  const talk = type?.endsWith(":busy") && facts.conversation_id;
  if (!talk || talk === id) return [];
  const end = h("button", { type: "button", onclick: () => pressed(end, () => request(`/conversations/${talk}/end`, { method: "POST" })) }, t("end_that"));
  return [h("p", { class: "buttons" }, h("a", { class: "button", href: link(`/view/conversations/${talk}`) }, t("to_talk")), end)];
}

/** Takes the shown problem away. */
export function calm() {
  $("notice").hidden = true;
}

/** Runs what a button does: the button rests meanwhile, problems are shown. */
export async function pressed(button, work) {
  button.disabled = true;
  try {
    const result = await work();
    calm();
    return result;
  } catch (error) {
    complain(error);
  } finally {
    button.disabled = false;
  }
}
