// Owns the character page: how it lives now, and below what it remembers.

import { api, complain } from "./api.js";
import { life } from "./life.js";
import { portrait } from "./faces.js";
import { $, id, places } from "./page.js";
import { meeting } from "./player.js";
import { begin } from "./remembered.js";

const EVERY_MS = 3000;

let shownLife = "";

/** How it lives, again and again; while the service is away, the last that was known. */
async function live() {
  const one = document.hidden ? null : await api(`/characters/${id}`).catch(() => null);
  const words = JSON.stringify(one);
  if (one && words !== shownLife) {
    const open = $("life").querySelector("details")?.open;
    shownLife = words;
    $("life").replaceChildren(...life(one, places));
    if (open) $("life").querySelector("details").open = true;
  }
  setTimeout(live, EVERY_MS);
}

$("portrait").src = portrait(id);
live();
meeting();
begin().catch(complain);
