/** The first digit (zero) of each script whose digits are accepted in inputs. Its other digits follow in order. */
const ZEROS = [
  "٠", // Arabic
  "۰", // Persian, Urdu
  "०", // Devanagari
  "০", // Bengali
  "੦", // Gurmukhi
  "૦", // Gujarati
  "୦", // Odia
  "௦", // Tamil
  "౦", // Telugu
  "೦", // Kannada
  "൦", // Malayalam
  "０", // full width
].map((zero) => zero.codePointAt(0)!);

const DIGITS = 10;

/** Replaces the digits of other scripts by 0 to 9, so that a number can be typed in the user's script. */
export function latinDigits(text: string): string {
  return text.replaceAll(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!;
    const zero = ZEROS.find((first) => code >= first && code < first + DIGITS);
    return zero === undefined ? digit : String(code - zero);
  });
}
