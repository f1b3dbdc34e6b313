// Owns what people look like: the portrait that their author gave them, else one drawn from their id.

import { avatar } from "./avatars/personas.js";
import { h } from "./dom.js";
import { data } from "./page.js";

const drawn = new Map();

/** The address of a person's picture: the same for the same id, in every world and browser. */
export function portrait(id) {
  if (data.portraits?.[id]) return data.portraits[id];
  if (!drawn.has(id)) drawn.set(id, avatar(id));
  return drawn.get(id);
}

/** The round picture of a person. Its name stands beside it: it says nothing to a screen reader. */
export const face = (id, kind) => h("img", { class: `face ${kind}`, src: portrait(id), alt: "", width: 40, height: 40, loading: "lazy" });
