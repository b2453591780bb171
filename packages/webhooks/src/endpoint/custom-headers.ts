import { checkHeader } from "@collections/outbound";

/** The headers that a host adds to the requests of an endpoint, by name. */
export type CustomHeaders = Readonly<Record<string, string>>;

/**
 * `headersOf` returned a header that cannot be sent. No request was sent, and the event stays due. The message does not contain the
 * value, because it may be a secret.
 *
 * @example
 * try {
 *   await testEndpoint(em, sender, await pingOf(tenantId));
 * } catch (error) {
 *   if (error instanceof InvalidWebhookHeaderError) console.error(error.header, error.message);
 *   throw error;
 * }
 */
export class InvalidWebhookHeaderError extends Error {
  override readonly name = "InvalidWebhookHeaderError";
  readonly code = "HEADER_INVALID";
  readonly tenantId: string;
  /** The name of the endpoint. Undefined for the unnamed endpoint. */
  readonly endpoint: string | undefined;
  readonly header: string;

  constructor(header: string, { tenantId, endpoint }: HeadersOwner, reason: string) {
    const call = endpoint === undefined ? `headersOf("${tenantId}")` : `headersOf("${tenantId}", "${endpoint}")`;
    super(`${call} returned the header ${JSON.stringify(header)}: ${reason}`);
    this.tenantId = tenantId;
    this.endpoint = endpoint;
    this.header = header;
  }
}

/** The endpoint whose requests have the headers. */
export interface HeadersOwner {
  readonly tenantId: string;
  readonly endpoint?: string | undefined;
}

/** Headers of every request, which a host cannot replace. */
const OWN_NAMES = new Set(["content-type", "content-encoding", "accept", "accept-encoding", "user-agent"]);
const STANDARD_PREFIX = "webhook-";
const HIDDEN = "(hidden)";

/** Checks the headers of a host: they may not delimit the message, or replace the package's own headers. */
export function checkCustomHeaders(headers: CustomHeaders, headerPrefix: string, owner: HeadersOwner): void {
  const used = new Set<string>();
  for (const [name, value] of Object.entries(headers) as [string, unknown][]) {
    const fail = (reason: string): never => {
      throw new InvalidWebhookHeaderError(name, owner, reason);
    };
    if (typeof value !== "string") return fail("its value is not a text.");
    const verdict = checkHeader(name, value);
    if (!verdict.ok) fail(verdict.reason);
    const lower = name.toLowerCase();
    if (
      OWN_NAMES.has(lower) ||
      [STANDARD_PREFIX, headerPrefix.toLowerCase()].some((prefix) => lower.startsWith(prefix))
    ) {
      fail("every request has this header of the package's own, or may have it; choose another name.");
    }
    if (used.has(lower)) fail("another header has the same name in other letters.");
    used.add(lower);
  }
}

/** Returns the headers without their values, because a value may be a secret. */
export function hidden(headers: CustomHeaders): Record<string, string> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN]));
}
