import { Stored } from "../data/storage.ts";
import type { Texts } from "./en.ts";
import { isLanguage, LANGUAGES, type LanguageTag, localeFor, preferredLanguage } from "./languages.ts";

const storedChoice = new Stored<string>("language");

let tag: LanguageTag = "en";
let locale = localeFor(tag, navigator.languages);

/** Applies the language that the user has chosen on this phone before, else the preferred language of the browser. */
export function startLanguage(): void {
  const chosen = storedChoice.read();
  apply(isLanguage(chosen) ? chosen : preferredLanguage(navigator.languages));
}

/** Applies a language and stores the choice on this phone. The caller draws the screen again. */
export function chooseLanguage(chosen: LanguageTag): void {
  storedChoice.write(chosen);
  apply(chosen);
}

export function currentLanguage(): LanguageTag {
  return tag;
}

/** Returns the locale for numbers and dates, such as `hi-IN`. */
export function currentLocale(): string {
  return locale;
}

/** Returns the texts of the current language. Call it when a text is drawn, because the language can change. */
export function texts(): Texts {
  return LANGUAGES[tag].texts;
}

function apply(next: LanguageTag): void {
  tag = next;
  locale = localeFor(next, navigator.languages);
  document.documentElement.lang = locale;
}
