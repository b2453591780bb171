import type { SentRequest } from "@collections/webhooks";

/** The time within which a receiver must answer (contract: Limits, webhook acknowledgement time). */
const TIMEOUT_SECONDS = 10;

/**
 * Returns a curl command for any POSIX shell that sends a request again, byte for byte, whatever its body contains. The
 * options keep curl from adding headers of its own and from changing the URL.
 */
export function curlLine({ url, headers, body }: SentRequest): string {
  const given = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [
    `curl --silent --show-error --include --http1.1 --globoff --max-time ${TIMEOUT_SECONDS} --request POST`,
    ...[...given, "Accept:", "Expect:"].map((header) => `--header ${shellQuoted(header)}`),
    // --data-binary would read a body that begins with @ as the name of a file.
    `--data-raw ${shellQuoted(body)}`,
    shellQuoted(URL.parse(url)?.href ?? url),
  ].join(" ");
}

/**
 * Quotes a text for a POSIX shell. Within single quotes, only the single quote needs escaping. Characters that control
 * a terminal become calls of `printf`: the line can then be shown safely, and the shell still produces the same bytes.
 */
export function shellQuoted(text: string): string {
  const quoted = `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return quoted.replaceAll(/(?:(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+/gu, (characters) => {
    const octal = Array.from(Buffer.from(characters), (byte) => `\\${byte.toString(8).padStart(3, "0")}`);
    return `'"$(printf '${octal.join("")}')"'`;
  });
}
