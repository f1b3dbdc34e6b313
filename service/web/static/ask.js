// Owns the dialog that asks before something is done, and for a name where one is needed.

import { $ } from "./page.js";

/** Asks; answers the name ("" where none is asked for), or null if it is not to be done. */
export function ask(title, text, named = "") {
  const [box, input] = [$("ask"), $("ask-name")];
  $("ask-title").textContent = title;
  $("ask-text").textContent = text;
  $("ask-label").hidden = input.disabled = !named;
  input.value = "";
  input.placeholder = named;
  box.returnValue = "";
  box.showModal();
  return new Promise((done) => {
    box.addEventListener("close", () => done(box.returnValue === "yes" ? input.value : null), { once: true });
  });
}
