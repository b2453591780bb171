import { isUnavailable } from "@collections/database";
import type { KeySecrets } from "@collections/lenders";
import { canonicalSha256, canonicalString, diagnose, type RequestToDiagnose } from "@collections/signing";
import { Problem } from "./problem.ts";

const DETAIL = "The signature is not the HMAC-SHA256 of what the server received.";

/** A signature that does not hold. Why, is only looked for when it is asked: that is work for some milliseconds. */
export class BadSignature extends Problem {
  readonly #request: RequestToDiagnose;
  readonly #secrets: (() => Promise<KeySecrets | undefined>) | undefined;

  /** `secrets` are read where the caller may know the mistake: in a sandbox. */
  constructor(request: RequestToDiagnose, secrets?: () => Promise<KeySecrets | undefined>) {
    super("BAD_SIGNATURE", DETAIL, {
      canonicalSha256: canonicalSha256(request),
      bodyBytes: request.body.length,
      ...(secrets && { canonicalString: Buffer.from(canonicalString(request)).toString("utf8") }),
    });
    this.#request = request;
    this.#secrets = secrets;
  }

  /** The same with its `diagnosis`, where the caller may know it. */
  async explained(): Promise<Problem> {
    const secrets = await this.#secrets?.().catch((error: unknown) => {
      if (isUnavailable(error)) return undefined;
      throw error;
    });
    if (!secrets) return this;
    const { diagnosis } = diagnose(this.#request, secrets, Date.now());
    return new Problem("BAD_SIGNATURE", DETAIL, { ...this.members, diagnosis });
  }
}
