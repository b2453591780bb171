import { shellQuoted } from "../../desk/shell-quoted.ts";
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
