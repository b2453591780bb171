import type { App } from "../../app.ts";
import { type Endpoint, signedRouter } from "../server.ts";
import { confirmPayment } from "./confirm-payment.ts";
import { debugSignature } from "./debug-signature.ts";
import { getCase } from "./get-case.ts";
import { getDelivery } from "./get-delivery.ts";
import { getReplay } from "./get-replay.ts";
import { health } from "./health.ts";
import { importCases } from "./import-cases.ts";
import { listDeliveries } from "./list-deliveries.ts";
import { replayDeliveries } from "./replay-deliveries.ts";
import { replayDelivery } from "./replay-delivery.ts";
import { testWebhook } from "./test-webhook.ts";

const KIB = 1_024;
const CONFIRM_LIMIT_BYTES = 16 * KIB;
const IMPORT_LIMIT_BYTES = 5 * KIB * KIB;
const DEFAULT_LIMIT_BYTES = 64 * KIB;

/** Every endpoint that lenders call, on one screen (contract: Partner endpoints). */
export function partnerEndpoints(app: App): Endpoint[] {
  return [
    {
      name: "health",
      path: "/api/v1/partner/health",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { GET: (request) => health(request, app.config) },
    },
    {
      name: "import",
      path: "/api/v1/partner/cases",
      limitBytes: IMPORT_LIMIT_BYTES,
      refusedWhileSuspended: true,
      methods: { POST: (request) => importCases(request, app.importCases) },
    },
    {
      name: "get-case",
      path: "/api/v1/partner/cases/:loan",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { GET: (request) => getCase(request, app.caseSnapshot) },
    },
    {
      name: "confirm",
      path: "/api/v1/partner/cases/:loan/payments/confirm",
      limitBytes: CONFIRM_LIMIT_BYTES,
      methods: { POST: (request) => confirmPayment(request, app.confirmPayment) },
    },
    {
      name: "webhooks-test",
      path: "/api/v1/partner/webhooks/test",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { POST: (request) => testWebhook(request, app.webhookTest) },
    },
    {
      name: "deliveries-list",
      path: "/api/v1/partner/webhooks/deliveries",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { GET: (request) => listDeliveries(request, app.database) },
    },
    {
      name: "deliveries-replay",
      path: "/api/v1/partner/webhooks/deliveries/replay",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { POST: (request) => replayDeliveries(request, app.database) },
    },
    {
      name: "deliveries-get",
      path: "/api/v1/partner/webhooks/deliveries/:eventId",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { GET: (request) => getDelivery(request, app.database) },
    },
    {
      name: "deliveries-replay-one",
      path: "/api/v1/partner/webhooks/deliveries/:eventId/replay",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { POST: (request) => replayDelivery(request, app.database) },
    },
    {
      name: "replays-get",
      path: "/api/v1/partner/webhooks/replays/:replayId",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: { GET: (request) => getReplay(request, app.database) },
    },
    {
      name: "debug-signature",
      signed: false,
      path: "/api/v1/partner/debug/signature",
      limitBytes: DEFAULT_LIMIT_BYTES,
      methods: {
        POST: (request) =>
          debugSignature(request, { secretsFor: app.credentials.secretsFor, sandbox: app.config.isSandbox }),
      },
    },
  ];
}

/** The router of the REST API for lenders. */
export function partnerRouter(app: App) {
  return signedRouter(partnerEndpoints(app), {
    credentials: app.credentials,
    keyUses: app.keyUses,
    rateLimiter: app.rateLimiter,
    bodyMemory: app.bodyMemory,
    publicBasePath: app.config.publicBasePath,
    sandbox: app.config.isSandbox,
    log: app.log,
    onAnswer: app.metrics.onAnswer,
  });
}
