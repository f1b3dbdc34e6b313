// Owns the page on which a person, a place or an action is edited: its keys as fields, what the check says beside them, and the way into the file.

import { api, calm, complain, Problem, request } from "./api.js";
import { h, setText } from "./dom.js";
import { portrait } from "./faces.js";
import { formOf } from "./fields.js";
import { bytesOf } from "./files.js";
import { $, data, id, t } from "./page.js";

const { kind } = data;
const address = `/content/${kind}/${id}`;
const picture = kind === "people" ? h("input", { type: "file", accept: "image/*", "data-path": "picture" }) : null;

let form = null;
let etag = "";
let file = "";

async function show() {
  const part = await api(address);
  ({ etag, file } = part);
  setText($("file"), file);
  form = part.values && formOf(part.form, part.values);
  $("fields").replaceChildren(...(form ? [picture && ofPicture(part.values.portrait), form.node].filter(Boolean) : []));
  $("fields").removeAttribute("aria-busy");
  $("save").disabled = !form || !part.writable;
  if (!part.writable) setText($("told"), t("edit_only_look"));
  form?.read("values");
  tell(part.problems);
}

function ofPicture(own) {
  picture.value = "";
  return h("div", { class: "field own-picture" },
    h("img", { class: "face", src: own ? `/view/${own}` : portrait(id), alt: "", width: 64, height: 64 }),
    h("label", {}, t("edit_picture"), picture));
}

/** Shows each sentence beside the field that it is about, and all others above. */
function tell(problems) {
  for (const old of document.querySelectorAll("[id^=wrong-]")) old.remove();
  for (const input of document.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
  const others = problems.filter((problem, number) => !beside(problem, number));
  $("problems").hidden = others.length === 0;
  $("problems").querySelector("ul").replaceChildren(...others.map(({ field, message }) => {
    const where = field.replace(/^body\./, "").replace(/^(elsewhere|values)\.?/, "");
    return h("li", {}, where && h("code", {}, where), where && " ", message);
  }));
}

function beside({ field, message }, number) {
  const input = inputOf(field.replace(/^body\./, ""));
  if (!input) return false;
  const said = h("p", { class: "wrong", id: `wrong-${number}` }, message);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", said.id);
  (input.closest(".tongue, label") ?? input).after(said);
  for (let box = input.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  return true;
}

/** The input of that key; of one that is missing, that which stands nearest above. */
function inputOf(path) {
  for (let at = path; at.includes(".") || at === "picture"; at = at.replace(/(\.[^.[]*|\[[^[]*)$/, "")) {
    const found = document.querySelector(`[data-path="${CSS.escape(at)}"], [data-path^="${CSS.escape(at)}."], [data-path^="${CSS.escape(at)}["]`);
    if (found || at === "picture") return found;
  }
  return null;
}

async function save() {
  const body = { values: form.read("values") };
  if (picture?.files.length) body.picture = await bytesOf(picture.files[0]);
  try {
    await request(address, { method: "PUT", headers: { "If-Match": `"${etag}"` }, body });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    tell(error.errors ?? []);
    setText($("told"), error.detail);
    $("told").className = "wrong";
    $("again").hidden = error.status !== 412;
    (document.querySelector("#part [aria-invalid]") ?? $("save")).focus();
    return;
  }
  const scroll = window.scrollY;
  await show();
  window.scrollTo(0, scroll);
  $("told").className = "";
  setText($("told"), t("edit_saved", { file }));
}

$("part").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("save").disabled = true;
  try {
    await save();
    calm();
  } catch (error) {
    complain(error);
  } finally {
    $("save").disabled = !form;
  }
});
$("again").addEventListener("click", () => window.location.reload());
show().catch(complain);
