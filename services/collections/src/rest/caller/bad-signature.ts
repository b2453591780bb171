import { isUnavailable } from "@collections/database";
import type { KeySecrets } from "@collections/lenders";
import { canonicalSha256, canonicalString, diagnose, type RequestToDiagnose } from "@collections/signing";
import { Problem } from "../../http/problem.ts";

/**
 * The maximum size of the text to sign that an answer shows; a longer text is cut. Nobody compares megabytes by eye,
 * and the hash shows whether two texts are equal.
 */
const MAX_SHOWN_BYTES = 65_536;

/**
 * The largest body for which a diagnosis is made. A diagnosis computes hundreds of signatures over the body: with 5 MiB
 * it would block the event loop for seconds.
 */
const MAX_DIAGNOSED_BYTES = 65_536;

const DETAIL = "The signature is not the HMAC-SHA256 of what the server received.";

/**
 * The problem of a wrong signature. `explained` adds the diagnosis. The diagnosis takes work, so an address with too
 * many failures gets RATE_LIMITED instead.
 */
export class BadSignature extends Problem {
  readonly #request: RequestToDiagnose;
  readonly #secrets: (() => Promise<KeySecrets | undefined>) | undefined;

  /**
   * `secrets` reads the secrets for the diagnosis. It is present only in a sandbox, where the caller may learn why the
   * signature is wrong.
   */
  constructor(request: RequestToDiagnose, secrets?: () => Promise<KeySecrets | undefined>) {
    super("BAD_SIGNATURE", DETAIL);
    this.#request = request;
    this.#secrets = secrets;
  }

  /**
   * Returns the problem with the hash of the received text. In a sandbox, adds the text that had to be signed and the
   * `diagnosis`.
   */
  async explained(): Promise<Problem> {
    const facts = { canonicalSha256: canonicalSha256(this.#request), bodyBytes: this.#request.body.length };
    if (!this.#secrets) return new Problem("BAD_SIGNATURE", DETAIL, facts);
    const shown = { ...facts, canonicalString: shownText(this.#request) };
    if (facts.bodyBytes > MAX_DIAGNOSED_BYTES) {
      const hint = `Sign a body of at most ${MAX_DIAGNOSED_BYTES} bytes in the same way to see a diagnosis.`;
      return new Problem("BAD_SIGNATURE", `${DETAIL} ${hint}`, shown);
    }
    const secrets = await this.#secrets().catch((error: unknown) => {
      if (isUnavailable(error)) return undefined;
      throw error;
    });
    if (!secrets) return new Problem("BAD_SIGNATURE", DETAIL, shown);
    const { diagnosis } = diagnose(this.#request, secrets, Date.now());
    return new Problem("BAD_SIGNATURE", DETAIL, { ...shown, diagnosis });
  }
}

function shownText(request: RequestToDiagnose): string {
  const bytes = Buffer.from(canonicalString(request));
  const text = bytes.toString("utf8", 0, MAX_SHOWN_BYTES);
  return bytes.length > MAX_SHOWN_BYTES ? `${text}… (cut: ${bytes.length} bytes in all)` : text;
}
