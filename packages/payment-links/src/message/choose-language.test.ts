import { expect, test } from "vitest";
import { chooseLanguage } from "../index.ts";

const IN = "IN";

test.each<[string, [string, ...string[]], (string | null)[], string, string]>([
  ["the borrower's language", ["en", "hi"], ["hi", "en"], "hi", "hi-IN"],
  ["a language whose tag has a region", ["en", "hi"], ["hi-IN", "en"], "hi", "hi-IN"],
  ["a language whose tag has a script", ["en", "hi"], ["hi-Deva-IN", "en"], "hi", "hi-Deva-IN"],
  ["the lender's language if there is no text in the borrower's", ["en", "hi"], ["ta", "hi"], "hi", "hi-IN"],
  ["the first language if no preferred language has a text", ["en", "hi"], ["ta", "te"], "en", "en-IN"],
  ["the first language if the case has no language", ["hi", "en"], [null], "hi", "hi-IN"],
  ["the next tag if one is malformed", ["en", "hi"], ["not a tag!", "hi"], "hi", "hi-IN"],
  ["the next tag if one is empty", ["en", "hi"], ["", "hi"], "hi", "hi-IN"],
  ["the next tag if one is very long", ["en", "hi"], [`en-${"abcdefgh-".repeat(40)}x`, "hi"], "hi", "hi-IN"],
  ["a tag in the form of Meta", ["en", "hi"], ["hi_IN"], "hi", "hi-IN"],
  ["a tag in capitals", ["en", "hi"], ["HI"], "hi", "hi-IN"],
  ["not a text in another script", ["en", "hi"], ["hi-Latn"], "en", "en-IN"],
  ["not the script of another text", ["sr_Latn", "en"], ["sr", "en"], "en", "en-IN"],
  ["the text of the same region", ["en_US", "en_GB", "en"], ["en-GB"], "en_GB", "en-GB"],
  ["the text without a region rather than of another one", ["en_US", "en"], ["en-IN"], "en", "en-IN"],
  ["a text of another region rather than of another language", ["hi", "en_US"], ["en-IN"], "en_US", "en-IN"],
  ["the format of the tag's own region", ["en"], ["en-AE"], "en", "en-AE"],
  ["a format without the extensions of the tag", ["en", "hi"], ["hi-u-nu-deva"], "hi", "hi-IN"],
])("chooses %s", (_case, available, tags, language, locale) => {
  expect(chooseLanguage(available, { tags, country: IN })).toEqual({ language, locale });
});

test.each([
  [
    "",
    "root",
    "x-private",
    "i-klingon",
    "und",
    "-",
    "en-",
    "en--IN",
    "hi\u0000",
    "हिन्दी",
    "\ud800",
    "zh-Hant",
    "a".repeat(5_000),
  ],
])("chooses a usable language for the odd tags %j", (...tags) => {
  for (const tag of tags) {
    for (const country of ["IN", "", "india", "\ud800"]) {
      const { language, locale } = chooseLanguage(["en", "hi"], { tags: [tag], country });
      expect(["en", "hi"]).toContain(language);
      expect(Intl.NumberFormat.supportedLocalesOf(locale)).toHaveLength(1);
    }
  }
});
