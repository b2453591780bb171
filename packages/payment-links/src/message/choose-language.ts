/** The languages in which a message would be understood, and the country for the format of amounts. */
export interface LanguagePreference {
  /** BCP 47 tags, the preferred first, such as the borrower's and the lender's. Null and malformed tags are skipped. */
  readonly tags: readonly (string | null)[];
  /** The region of the format if the tag has none, as an ISO 3166-1 alpha-2 code: the lender's country. */
  readonly country?: string;
}

/** The language of a message. */
export interface ChosenLanguage {
  /** One of the available languages, as it was given. */
  readonly language: string;
  /** A BCP 47 tag of the same language, for the format of amounts. */
  readonly locale: string;
}

/**
 * Chooses the language of a message from those in which its text exists. `available` has BCP 47 tags, or Meta's codes
 * such as `en_US`. Takes the first preferred tag that has the language and the script of an available language. If
 * several languages fit, takes the one of the same region, or else the one without a region. If no tag fits, takes the
 * first available language. Never throws, whatever the tags are.
 *
 * @example
 * chooseLanguage(["en", "hi"], { tags: ["hi-IN", "en"], country: "IN" }); // { language: "hi", locale: "hi-IN" }
 * chooseLanguage(["en", "hi"], { tags: ["ta"], country: "IN" }); // { language: "en", locale: "en-IN" }
 */
export function chooseLanguage(
  available: readonly [string, ...string[]],
  { tags, country }: LanguagePreference,
): ChosenLanguage {
  for (const tag of tags) {
    const wanted = localeOf(tag);
    const language = wanted && bestOf(available, wanted);
    if (language !== undefined) return { language, locale: formatLocale(wanted!, country) };
  }
  const [language] = available;
  const locale = localeOf(language);
  return { language, locale: locale ? formatLocale(locale, country) : "en" };
}

/** The longest tag that is read. All usual language tags are at most this long (RFC 5646, 4.4.1). */
const MAX_TAG_CHARS = 35;

function localeOf(tag: string | null): Intl.Locale | undefined {
  if (tag === null || tag.length > MAX_TAG_CHARS) return undefined;
  try {
    const locale = new Intl.Locale(tag.replaceAll("_", "-"));
    // The tag `und` names no language.
    return ["und", undefined].includes(locale.language) ? undefined : locale;
  } catch {
    // Intl throws a RangeError for a text that is not a language tag.
    return undefined;
  }
}

function bestOf(available: readonly string[], wanted: Intl.Locale): string | undefined {
  let best: { language: string; fit: number } | undefined;
  for (const language of available) {
    const fit = fitOf(localeOf(language), wanted);
    if (fit > (best?.fit ?? 0)) best = { language, fit };
  }
  return best?.language;
}

/** Returns 0 for another language or script, 3 for the same region, 2 if the offered one has no region, and otherwise 1. */
function fitOf(offered: Intl.Locale | undefined, wanted: Intl.Locale): number {
  if (offered === undefined) return 0;
  const [full, wantedFull] = [offered.maximize(), wanted.maximize()];
  if (full.language !== wantedFull.language || full.script !== wantedFull.script) return 0;
  if (full.region === wantedFull.region) return 3;
  return offered.region === undefined ? 2 : 1;
}

/** Returns the language, the script and the region of a tag. Its extensions, such as another calendar, are left out. */
function formatLocale({ language, script, region }: Intl.Locale, country: string | undefined): string {
  const place = region ?? (country !== undefined && /^[A-Z]{2}$/.test(country) ? country : undefined);
  return [language, script, place].filter((part) => part !== undefined).join("-");
}
