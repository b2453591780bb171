import { type Mistake, ways } from "./diagnose-recipe.ts";

/** Lists mistakes in joining the parts of the signed text, and in computing the digest of that text. */
export function messageMistakes(hasBody: boolean): Mistake[] {
  return [
    ...ways({ part: "method" }, "METHOD_IN_LOWER_CASE", [(method) => method.toLowerCase()]),
    ...(hasBody ? [] : ways({ part: "ending" }, "LAST_NEWLINE_MISSING", [() => "none"])),
    ...ways({ part: "separator" }, "SEPARATORS_CRLF", [() => "\r\n"]),
    ...ways({ part: "separator" }, "SEPARATORS_LITERAL", [() => "\\n"]),
    ...ways({ part: "separator" }, "SEPARATORS_MISSING", [() => ""]),
    ...ways({ part: "separator" }, "SEPARATORS_DOT", [() => "."]),
    ...ways({ part: "scheme" }, "PLAIN_HASH", [() => "hash", () => "hash-secret-first", () => "hash-secret-last"]),
    ...ways({ part: "scheme" }, "KEY_AND_MESSAGE_SWAPPED", [() => "swapped"]),
  ];
}
