import { whatsappWebhook } from "@collections/lenders";
import { recordMessageReports } from "@collections/flows";
import {
  isLikeSignatureOfMeta,
  isSameToken,
  isSignedByMeta,
  readWhatsAppStatuses,
  type WhatsAppStatus,
} from "@collections/messaging";
import { type Request, type RequestHandler, type Response, Router } from "express";
import type { App } from "../app.ts";
import { drainBody, readBody } from "../http/read-body.ts";
import { addressOf } from "../http/address-of.ts";
import { Problem } from "../http/problem.ts";
import { countFailure } from "./caller/rate-limit.ts";

const PATH = "/webhooks/whatsapp/:lenderCode";
/** The largest body that is accepted, which is the largest that Meta sends. */
const LIMIT_BYTES = 3 * 1_024 * 1_024;
const METHODS = "GET, POST";
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const ENDPOINT = "whatsapp-webhook";

/** The URL to which Meta reports the status of messages from a lender's WhatsApp account. */
export function whatsappCallback(app: App): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(PATH, serve(app));
  return router;
}

function serve(app: App): RequestHandler {
  return async (request, response) => {
    const startedAt = performance.now();
    response.on("close", () => {
      const durationMs = performance.now() - startedAt;
      app.metrics.onAnswer({ endpoint: ENDPOINT, status: response.statusCode, durationMs });
    });
    response.setHeader("Cache-Control", "no-store");
    if (request.method === "GET") await answerRegistration(app, request, response);
    else if (request.method === "POST") await recordReports(app, request, response);
    else throw new Problem("METHOD_NOT_ALLOWED", `Send ${METHODS} here.`, {}, { Allow: METHODS });
  };
}

/** Answers the challenge that Meta sends once, when a lender registers the URL. */
async function answerRegistration(app: App, request: Request, response: Response): Promise<void> {
  const query = new URLSearchParams(request.originalUrl.split("?", 2)[1] ?? "");
  const challenge = query.get("hub.challenge") ?? "";
  const { verifyToken } = await registeredBy(app, request);
  const hasToken = isSameToken(query.get("hub.verify_token") ?? "", verifyToken ?? "");
  const isValid = verifyToken !== null && hasToken && query.get("hub.mode") === "subscribe";
  if (!isValid) return refuse(app, request);
  response.type("text/plain").send(challenge);
}

/**
 * Records the reports in a call that Meta has signed for the lender's app. Any signed call is answered 200, because
 * Meta would repeat it otherwise.
 */
async function recordReports(app: App, request: Request, response: Response): Promise<void> {
  const signature = request.get("x-hub-signature-256");
  if (!isLikeSignatureOfMeta(signature)) {
    // The body is not read, so the answer closes the connection unless the body has arrived already.
    return refuse(app, request);
  }
  const { lenderId, appSecret } = await registeredBy(app, request);
  if (lenderId === undefined || appSecret === null) {
    // Nothing can be verified without a secret. The body is still read, so that the client receives the answer.
    await drainBody(request, { limitBytes: LIMIT_BYTES });
    return refuse(app, request);
  }
  const held = app.bodyMemory.hold(addressOf(request));
  let body: Buffer;
  try {
    body = await readBody(request, { limitBytes: LIMIT_BYTES, held });
    if (!isSignedByMeta(body, signature, appSecret)) return await refuse(app, request);
  } finally {
    held.release();
  }
  const statuses = readWhatsAppStatuses(body);
  if (statuses.length > 0) {
    const { database, config } = app;
    await recordMessageReports({ database, environment: config.environment }, lenderId, statuses.map(reportOf));
  }
  response.status(200).json({ success: true });
}

/**
 * Finds the WhatsApp webhook of the lender in the path. Id and secrets are absent if the lender has registered none.
 */
async function registeredBy({ database, vault }: App, request: Request) {
  const { lenderCode } = request.params as { lenderCode: string };
  const registered = /^[A-Z0-9]{2,16}$/.test(lenderCode)
    ? await whatsappWebhook(database.em(), vault, lenderCode)
    : undefined;
  return registered ?? { lenderId: undefined, appSecret: null, verifyToken: null };
}

/** @throws Problem BAD_SIGNATURE, or RATE_LIMITED instead for an address with too many failures */
async function refuse({ rateLimiter }: App, request: Request): Promise<never> {
  await countFailure(rateLimiter, addressOf(request));
  throw new Problem("BAD_SIGNATURE", "The call has no valid signature or token of the lender's registered app.");
}

/**
 * Converts a status of Meta to a report. If this service sent the message, the status carries the id of the delivery. A
 * report without `deliveryId` is about a message of another sender.
 */
function reportOf({ messageId, status, failure, callbackData }: WhatsAppStatus) {
  return {
    providerMessageId: messageId,
    status,
    ...(callbackData !== undefined && UUID.test(callbackData) && { deliveryId: callbackData }),
    ...(failure && { failureCode: failure.code, failureDetail: failure.detail }),
  };
}
