import { element } from "@collections/web-pages/browser";
import { chooseLanguage, currentLanguage, texts } from "../language/current.ts";
import { LANGUAGES, type LanguageTag } from "../language/languages.ts";
import { choice } from "./parts.ts";

/** Creates the choice of the app's language. Calls `changed` after the new language was applied and stored. */
export function languageChoice(changed: () => void): HTMLElement {
  const names = Object.entries(LANGUAGES).map(([tag, { name }]) => [tag, name] as const);
  const made = choice(
    "language",
    texts().language,
    Object.fromEntries(names) as Record<LanguageTag, string>,
    currentLanguage(),
    (tag) => {
      chooseLanguage(tag);
      changed();
    },
  );
  // Each name is in its own language, so that screen readers pronounce it correctly.
  for (const span of made.querySelectorAll("span")) {
    span.lang = names.find(([, name]) => name === span.textContent)?.[0] ?? "";
  }
  return element("div", { class: "language" }, made);
}
