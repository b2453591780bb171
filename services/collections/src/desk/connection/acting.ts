import type { MintLinkTest, MintLinkTestOutcome } from "@collections/flows";
import type { Lender, LenderProfile, Vault } from "@collections/lenders";
import type { AllowList } from "@collections/outbound";
import type { TestedDelivery } from "@collections/webhooks";
import type { RateLimiter } from "../../http/rate-limiter.ts";
import type { Acting } from "../acts.ts";

/** The parts that reads and changes of a lender's connection need. */
export interface ConnectionActing extends Acting {
  readonly vault: Vault;
  /** Hosts for which plain http and private addresses are allowed. */
  readonly allow: AllowList;
  /** Sends a ping to the lender's callback. */
  readonly ping: (lender: LenderProfile) => Promise<TestedDelivery>;
  readonly testMintLink: (test: MintLinkTest) => Promise<MintLinkTestOutcome>;
  readonly rateLimiter: RateLimiter;
}

/** A test call to a lender, in words. */
export interface TestedCall {
  readonly isAnswered: boolean;
  /** The result in one sentence. */
  readonly headline: string;
  /** The request and the answer as lines of text, without control characters. */
  readonly request: string;
  readonly answer: string;
  /** Null if the call has succeeded. */
  readonly failure: { readonly cause: string; readonly remedy: string } | null;
}

/** Returns the lender with a code, if the person may see it. */
export async function lenderIn({ lenders }: Pick<Acting, "lenders">, code: string): Promise<Lender | undefined> {
  return (await lenders()).find((lender) => lender.code === code);
}

/** Counts a test call. Returns why it is refused, or undefined. Calls from pages are counted for the lender. */
export async function whyTooOften(
  { rateLimiter }: Pick<ConnectionActing, "rateLimiter">,
  { id, rateLimits }: LenderProfile,
  limit: "webhooks-test" | "mint-link-test" | "sandbox-play",
): Promise<string | undefined> {
  const admission = await rateLimiter.admit(limit, `console ${id}`, rateLimits[limit]);
  if (admission?.granted !== false) return undefined;
  return `The limit is ${admission.quota} calls a minute for a lender. Wait ${admission.waitS} s, and send the form again.`;
}

/** Returns the lines of a request as one text, with an empty line before the body. */
export function requestText(lines: readonly string[]): string {
  return [...lines.slice(0, -1), "", ...lines.slice(-1)].map((line) => line.trimStart()).join("\n");
}

/** Returns a request as lines of text. */
export function requestLines(request: {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}): string[] {
  const headers = Object.entries(request.headers).map(([name, value]) => `  ${name}: ${value}`);
  return [`POST ${request.url}`, ...headers, `  ${request.body}`];
}
