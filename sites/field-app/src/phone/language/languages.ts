import { en, type Texts } from "./en.ts";
import { hi } from "./hi.ts";

/** A language of the app. */
interface Language {
  /** The name of the language in the language itself. */
  readonly name: string;
  /** The locale of numbers and dates, unless the phone has another locale of this language. */
  readonly locale: string;
  readonly texts: Texts;
}

/** The languages of the app by their BCP 47 tags. To add a language, add its catalogue and a line here. */
export const LANGUAGES = {
  en: { name: "English", locale: "en-IN", texts: en },
  hi: { name: "हिन्दी", locale: "hi-IN", texts: hi },
} as const satisfies Readonly<Record<string, Language>>;

export type LanguageTag = keyof typeof LANGUAGES;

/** Returns whether the app has this language. */
export function isLanguage(tag: string | undefined): tag is LanguageTag {
  return tag !== undefined && Object.hasOwn(LANGUAGES, tag);
}

/**
 * Returns the first language of `wanted` that the app has, else English.
 *
 * @param wanted BCP 47 tags in the user's order, such as `navigator.languages`
 */
export function preferredLanguage(wanted: readonly string[]): LanguageTag {
  return wanted.map(primaryTag).find(isLanguage) ?? "en";
}

/** Returns the locale for numbers and dates: the user's own locale of this language, else the usual one. */
export function localeFor(tag: LanguageTag, wanted: readonly string[]): string {
  return wanted.find((locale) => primaryTag(locale) === tag && locale !== tag) ?? LANGUAGES[tag].locale;
}

function primaryTag(locale: string): string {
  return locale.split("-")[0]!.toLowerCase();
}
