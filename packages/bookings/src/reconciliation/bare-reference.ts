const WRAPPED = /^="(.*)"$/su;
const LEFT_OUT = /[\s\p{Pd}\u2212'’‘`ʼ"]/gu;

/**
 * Returns a reference without everything that spreadsheets and people change: case, blanks, dashes, apostrophes, leading
 * zeros, `="…"` and a trailing `.0`. Two references with the same result probably name the same payment. A reference of
 * which nothing is left, such as `000` or `-`, is compared as it is.
 *
 * @example
 * bareReference('="0041-22 ab.0"'); // "4122ab"
 */
export function bareReference(reference: string): string {
  const text = reference.trim();
  const bare = text
    .replace(WRAPPED, "$1")
    .replaceAll(LEFT_OUT, "")
    .toLowerCase()
    .replace(/\.0+$/, "")
    .replace(/^0+/, "");
  return bare === "" ? text : bare;
}
