import { newId } from "@collections/database";
import { pingBody } from "@collections/flows";
import type { Credentials } from "@collections/lenders";
import type { Outbound } from "@collections/outbound";
import type { Ping, WebhookSender } from "@collections/webhooks";

/** All keys of the lender are revoked, so the service cannot sign requests to the lender. */
export class NoSigningKeyError extends Error {
  override readonly name = "NoSigningKeyError";
  readonly code = "NO_SIGNING_KEY";
  readonly lenderId: string;

  constructor(lenderId: string) {
    super("The lender has no API key left to sign with.");
    this.lenderId = lenderId;
  }
}

/** The `User-Agent` header of webhooks (contract: Delivery). */
const USER_AGENT = "PartnerCollections-Webhooks/1.0";

export interface WebhookSenderParts {
  readonly credentials: Pick<Credentials, "signingKeyOf">;
  readonly outbound: Outbound;
  readonly timeoutMs: number;
}

/**
 * Returns the functions that the webhooks package needs to sign and send events and pings. `signingKeyOf` rejects with
 * NoSigningKeyError.
 */
export function createWebhookSender({ credentials, outbound, timeoutMs }: WebhookSenderParts): WebhookSender {
  return {
    outbound,
    timeoutMs,
    userAgent: USER_AGENT,
    now: () => new Date(),
    async signingKeyOf(lenderId) {
      const key = await credentials.signingKeyOf(lenderId);
      if (!key) throw new NoSigningKeyError(lenderId);
      return { keyId: key.keyId, secret: key.signingKey };
    },
  };
}

/** Creates a ping for a lender's callback, with a new event id. */
export function pingTo(lender: { readonly id: string; readonly code: string }, environment: string): Ping {
  const eventId = newId();
  const origin = { lenderCode: lender.code, environment, now: new Date() };
  return { tenantId: lender.id, eventId, body: pingBody(eventId, origin) };
}
