import { type EntityManager, publicId } from "@collections/database";
import {
  type AttemptError,
  type CallbackAnswer,
  makeAttempt,
  type SentRequest,
  type WebhookSender,
} from "./attempt.ts";
import { endpointOf } from "./endpoint.ts";
import { type OfTenant, tenantIdOf } from "./old-names.ts";
import { recoverEndpoint } from "./recover.ts";

/** A ping to send: a new UUIDv7, and the exact body that contains it. */
export type Ping = OfTenant & {
  /** The name of the endpoint. Default: the tenant's unnamed endpoint. `pingOf` may leave it out. */
  readonly endpoint?: string | undefined;
  readonly eventId: string;
  readonly body: string;
};

/** The result of a ping. `error` is null if the ping was delivered. */
export interface TestedDelivery {
  readonly delivered: boolean;
  /** `evt_…` */
  readonly deliveryId: string;
  readonly durationMs: number;
  readonly request: SentRequest;
  readonly response: CallbackAnswer | null;
  readonly error: AttemptError | null;
}

/**
 * The tenant has not registered a callback URL, so there is nowhere to send a ping.
 *
 * @example
 * try {
 *   await testEndpoint(em, sender, await pingOf(tenantId));
 * } catch (error) {
 *   if (!(error instanceof CallbackNotConfiguredError)) throw error;
 *   await transaction(em, (tx) => changeEndpoint(tx, { tenantId, url: "https://acme.example/hooks" }));
 * }
 */
export class CallbackNotConfiguredError extends Error {
  override readonly name = "CallbackNotConfiguredError";
  readonly code = "CALLBACK_NOT_CONFIGURED";
  readonly tenantId: string;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId: string;

  constructor(tenantId: string) {
    super("No callback URL is registered; register one, then send the test again.");
    this.tenantId = tenantId;
    this.lenderId = tenantId;
  }
}

/**
 * This process is shutting down; another process can send the ping.
 *
 * @example
 * try {
 *   await testEndpoint(em, sender, await pingOf(tenantId));
 * } catch (error) {
 *   if (error instanceof PingAbandonedError) console.error(`Try again in a moment. ${error.message}`);
 * }
 */
export class PingAbandonedError extends Error {
  override readonly name = "PingAbandonedError";
  readonly code = "PING_ABANDONED";

  constructor() {
    super("The ping was not sent because this process is shutting down; send the test again.");
  }
}

/**
 * Sends one signed ping to the registered callback and waits for the answer. The ping is not stored or retried, and does not
 * count as a failure. A 2xx ends a suspension, as after a probe. Throws CallbackNotConfiguredError and PingAbandonedError.
 * contract: Partner endpoints, webhooks/test
 *
 * @example
 * const eventId = newId();
 * const body = JSON.stringify({ eventId: publicId("evt", eventId), kind: "ping", sequence: null });
 * const { delivered, durationMs, error } = await testEndpoint(em, sender, { tenantId, eventId, body });
 * console.log(delivered ? `Answered in ${durationMs} ms.` : error?.detail);
 */
export async function testEndpoint(em: EntityManager, sender: WebhookSender, ping: Ping): Promise<TestedDelivery> {
  const tenantId = tenantIdOf(ping);
  const recipient = { tenantId, endpoint: ping.endpoint };
  const endpoint = await endpointOf(em, recipient);
  if (!endpoint?.url) throw new CallbackNotConfiguredError(tenantId);
  const attempt = await makeAttempt(sender, { ...ping, url: endpoint.url, kind: "ping", number: 1 });
  if (attempt.outcome === "abandoned") throw new PingAbandonedError();
  if (attempt.outcome === "delivered") await recoverEndpoint(em, recipient, { url: endpoint.url });
  return {
    delivered: attempt.outcome === "delivered",
    deliveryId: publicId("evt", ping.eventId),
    durationMs: attempt.durationMs,
    request: attempt.request,
    response: attempt.answer,
    error: attempt.error,
  };
}
