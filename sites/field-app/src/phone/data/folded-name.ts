const APOSTROPHES = /[`´ʹʻʼʽʾʿˈ՚׳᾽᾿‘’‛′＇]/gu;
const DASHES = /[\u2010\u2012-\u2015\u2212]/gu;
/** Nuktas, the elongation of Arabic letters, joiners and other invisible characters. */
const REMOVED =
  /\u093C|\u09BC|\u0A3C|\u0ABC|\u0B3C|\u0CBC|\u0640|\u00AD|\u034F|\u061C|\u115F|\u1160|\u17B4|\u17B5|\u3164|\uFEFF|[\u180B-\u180F]|[\u200B-\u200F]|[\u202A-\u202E]|[\u2060-\u206F]|[\uFE00-\uFE0F]/gu;
/** Letters with several forms that look the same: chillus, the khanda ta, sigma, and letters of Arabic and Urdu. */
const SAME: Readonly<Record<string, string>> = {
  ൔ: "മ്",
  ൕ: "യ്",
  ൖ: "ഴ്",
  ൺ: "ണ്",
  ൻ: "ന്",
  ർ: "ര്",
  ൽ: "ല്",
  ൾ: "ള്",
  ൿ: "ക്",
  ৎ: "ত্",
  ς: "σ",
  ي: "ی",
  ى: "ی",
  ك: "ک",
  ه: "ہ",
};
const WITH_SAME = new RegExp(`[${Object.keys(SAME).join("")}]`, "gu");

/**
 * Returns the form of a name in which it is searched: names that look the same are equal. `cases.folded_name` does the same
 * in the database.
 */
export function foldedName(name: string): string {
  return name
    .replaceAll(APOSTROPHES, "'")
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(WITH_SAME, (letter) => SAME[letter]!)
    .replaceAll(DASHES, "-")
    .replaceAll(REMOVED, "")
    .normalize("NFC")
    .trim();
}
