import type { SentRequest } from "@collections/webhooks";

/** As long as a callback may take. contract: Limits, webhook acknowledgement time */
const TIMEOUT_SECONDS = 10;

/**
 * A command line that sends a request again, byte by byte: for any POSIX shell, whatever stands in the body. What curl
 * would add or change by itself is switched off.
 */
export function curlLine({ url, headers, body }: SentRequest): string {
  const given = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [
    `curl --silent --show-error --include --http1.1 --globoff --max-time ${TIMEOUT_SECONDS} --request POST`,
    ...[...given, "Accept:", "Expect:"].map((header) => `--header ${shellQuoted(header)}`),
    // Not --data-binary: a body that begins with @ would be taken for the name of a file.
    `--data-raw ${shellQuoted(body)}`,
    shellQuoted(URL.parse(url)?.href ?? url),
  ].join(" ");
}

/**
 * Within single quotes a shell leaves everything alone, but for the single quote itself. Characters that a terminal would
 * act on are left to `printf`, so that the line can be shown and still means the same bytes.
 */
export function shellQuoted(text: string): string {
  const quoted = `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return quoted.replaceAll(/(?:(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+/gu, (characters) => {
    const octal = Array.from(Buffer.from(characters), (byte) => `\\${byte.toString(8).padStart(3, "0")}`);
    return `'"$(printf '${octal.join("")}')"'`;
  });
}
