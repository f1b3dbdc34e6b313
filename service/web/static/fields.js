// Owns how the values of a content file become fields of a form, by the JSON Schema of its keys, and are read out again. What nobody touched is read as it was.

import { h } from "./dom.js";
import { data, lang, t } from "./page.js";

const LISTS = { person: "people", knows: "people", who: "people", home: "nodes", nodes: "nodes", facility: "facilities", action: "actions", maps: "maps", portrait: "pictures" };

let defs = {};
let writes = false; // texts are written language by language

/** The fields of a whole: { node, read(path) }. The inputs get `data-path`, where their value stands in what was read. */
export function formOf(schema, values) {
  defs = schema.$defs ?? {};
  writes = JSON.stringify(values).includes('"ja":') || JSON.stringify(values).includes('"en":');
  return whole(schema, values);
}

function whole(schema, values) {
  const made = {};
  const one = (name) => (made[name] = field(schema.properties[name] ?? {}, values[name], name, name === "id"));
  const there = Object.keys(values).map((name) => one(name).node);
  const more = Object.keys(schema.properties).filter((name) => !(name in values)).map((name) => one(name).node);
  return {
    node: h("div", { class: "fields" }, there, more.length > 0 && h("details", {}, h("summary", {}, t("edit_more")), more)),
    read: (path) => gathered(made, path),
  };
}

/** The mapping of what the fields say: what is left out is not in it. */
function gathered(made, path) {
  const told = Object.entries(made).map(([name, one]) => [name, one.read(`${path}.${name}`)]);
  return Object.fromEntries(told.filter(([, value]) => value !== undefined));
}

function resolved(schema) {
  const { $ref, anyOf, description, ...rest } = schema;
  if ($ref) return { ...resolved(defs[$ref.split("/").pop()]), description };
  const kinds = (anyOf ?? []).filter(({ type }) => type !== "null");
  return kinds.length === 1 ? { ...resolved(kinds[0]), description } : { ...rest, description };
}

/** English stands before its translation. */
function hint({ description = "" }) {
  const [english, japanese = english] = description.split(/ \/ (?=[^/]*[\u3040-\u9fff])/u);
  return (lang === "ja" ? japanese : english).replaceAll("`", "");
}

const isText = (value) => typeof value === "string" || (value && typeof value === "object" && Object.keys(value).length > 0 && Object.keys(value).every((name) => name in data.tongues));

function field(given, value, name, isFixed = false) {
  const schema = resolved(given);
  const title = schema.title;
  if (title === "TextForm" || (title === "OccupationEntry" && (value === undefined || isText(value)))) return texts(schema, value, name);
  if (title === "FactEntry") return fact(schema, value, name);
  if (schema.type === "array" && (value === undefined || Array.isArray(value))) return list(schema, value, name);
  if (schema.type === "object" && (value === undefined || (value && typeof value === "object"))) return mapping(schema, value, name);
  return leaf(schema, value, name, isFixed);
}

/** What it is called, and what it is; in a list, only its number. */
const head = (name, schema) => [h("code", {}, name), " ", h("span", { class: "quiet" }, hint(schema))];

function group(name, schema, ...inside) {
  return h("fieldset", {}, h("legend", {}, head(name, schema)), inside);
}

/** An input for a value that is no list and no mapping. */
function leaf(schema, value, name, isFixed) {
  const { type, enum: choices } = schema;
  let input, parse = (text) => text;
  if (choices || type === "boolean") {
    const options = choices ?? ["true", "false"];
    const shown = value === undefined || options.includes(String(value)) ? options : [String(value), ...options];
    input = h("select", {}, h("option", { value: "" }, t("edit_unset")), shown.map((one) => h("option", { value: one }, { true: t("edit_yes"), false: t("edit_no") }[one] ?? one)));
    if (type === "boolean") parse = (text) => ({ true: true, false: false })[text] ?? text;
    input.value = value ?? "";
  } else if (type === "string") {
    input = h("input", { autocomplete: "off", list: LISTS[name] && `ids-${LISTS[name]}`, readonly: isFixed });
    input.value = typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
  } else if (type === "integer" || type === "number") {
    input = h("input", { inputmode: "decimal", autocomplete: "off" });
    parse = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);
    input.value = value ?? "";
  } else {
    input = h("textarea", { rows: 1, spellcheck: "false" });
    parse = (text) => { try { return JSON.parse(text); } catch { return text; } };
    input.value = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  }
  const before = input.value;
  return {
    node: h("div", { class: "field" }, h("label", {}, head(name, schema), input)),
    read(path) {
      input.dataset.path = path;
      if (input.value === before) return value;
      return input.value.trim() === "" ? undefined : parse(input.value.trim());
    },
  };
}

/** A text: one for all languages, or one in each. */
function texts(schema, value, name) {
  const one = areas(value, name);
  return { node: group(name, schema, one.node), read: one.read };
}

function areas(value, name) {
  const tongues = typeof value === "string" || (value === undefined && !writes) ? { "": name } : { ...data.tongues };
  const inputs = Object.entries(tongues).map(([code, called]) => {
    const input = h("textarea", { rows: 1, lang: code || null, "aria-label": `${name}: ${called}` });
    input.value = (code ? value?.[code] : value) ?? "";
    return { code, input, before: input.value };
  });
  return {
    node: h("div", { class: "texts" }, inputs.map(({ code, input }) => h("div", { class: "tongue" }, code && h("span", { class: "quiet", "aria-hidden": "true" }, code), input))),
    read(path) {
      for (const { code, input } of inputs) input.dataset.path = code ? `${path}.${code}` : path;
      if (inputs.every(({ input, before }) => input.value === before)) return value;
      if (inputs[0].code === "") return inputs[0].input.value.trim() || undefined;
      const said = inputs.map(({ code, input, before }) => [code, input.value === before ? value?.[code] : input.value.trim()]);
      const told = Object.fromEntries(said.filter(([, text]) => text));
      return Object.keys(told).length ? told : undefined;
    },
  };
}

/** A fact: a text, and who may be told it. */
function fact(schema, value, name) {
  const { secret, tellFrom, ...words } = value && typeof value === "object" ? value : {};
  const said = areas(value && typeof value === "object" && Object.keys(words).length ? words : typeof value === "string" ? value : undefined, name);
  const kept = { secret: field(schema.properties.secret, secret, "secret"), tellFrom: field(schema.properties.tellFrom, tellFrom, "tellFrom") };
  const node = h("div", {}, said.node, h("details", { open: secret === true }, h("summary", {}, "secret, tellFrom"), Object.values(kept).map((one) => one.node)));
  return {
    node,
    read(path) {
      const text = said.read(path), more = gathered(kept, path);
      if (text === undefined || Object.keys(more).length === 0) return text;
      return typeof text === "string" ? { ...Object.fromEntries(Object.keys(data.tongues).map((code) => [code, text])), ...more } : { ...text, ...more };
    },
  };
}

/** A button that takes away what it stands beside. */
const remove = (name, onclick) => h("button", { type: "button", class: "remove", "aria-label": `${t("edit_remove")}: ${name}`, onclick }, "×");

function list(schema, value, name) {
  let rows = [];
  const items = h("div", { class: "items" });
  function add(item) {
    const one = field(schema.items ?? {}, item, name);
    const row = h("div", { class: "item" }, one.node, remove(name, () => {
      rows = rows.filter((other) => other !== one);
      row.remove();
      more.focus();
    }));
    rows.push(one);
    items.append(row);
    return row;
  }
  const more = h("button", { type: "button", class: "add", onclick: () => add().querySelector("input, textarea, select, button")?.focus() }, t("edit_add", { name }));
  (value ?? []).forEach(add);
  return {
    node: group(name, schema, items, more),
    read(path) {
      const told = [];
      for (const one of rows) {
        const item = one.read(`${path}[${told.length}]`);
        if (item !== undefined) told.push(item);
      }
      return told.length || value?.length === 0 ? told : undefined;
    },
  };
}

/** Keys that are known, or any with values of one kind. */
function mapping(schema, value, name) {
  const known = Object.keys(schema.properties ?? {});
  const inside = h("div", { class: "inside" });
  let made = {};
  function show(values) {
    const names = known.length ? [...new Set([...Object.keys(values), ...known])] : Object.keys(values);
    made = Object.fromEntries(names.map((key) => [key, field(schema.properties?.[key] ?? schema.additionalProperties ?? {}, values[key], key)]));
    inside.replaceChildren(...Object.values(made).map((one) => one.node));
  }
  const key = h("input", { autocomplete: "off", "aria-label": `${name}: ${t("edit_key")}`, placeholder: t("edit_key") });
  const more = h("button", { type: "button", class: "add", onclick() {
    if (known.length) {
      show({});
      more.hidden = true;
    } else if (key.value.trim()) {
      made[key.value.trim()] ??= field(schema.additionalProperties ?? {}, undefined, key.value.trim());
      inside.append(made[key.value.trim()].node);
      key.value = "";
    }
    inside.lastElementChild?.querySelector("input, textarea, select")?.focus();
  } }, t("edit_add", { name }));
  if (value !== undefined) show(value);
  more.hidden = known.length > 0 && value !== undefined;
  return {
    node: group(name, schema, inside, known.length ? more : h("div", { class: "new-key" }, key, more)),
    read(path) {
      const told = gathered(made, path);
      return Object.keys(told).length || (value && Object.keys(value).length === 0) ? told : undefined;
    },
  };
}
