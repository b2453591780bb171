import type { Endpoint } from "../endpoint/endpoint.ts";
import { confirmPayment } from "./confirm-payment.ts";
import { createPortalLinkEndpoint } from "./create-portal-link.ts";
import { debugSignature } from "./debug-signature.ts";
import { getCase } from "./get-case.ts";
import { getDelivery } from "./get-delivery.ts";
import { getReplay } from "./get-replay.ts";
import { health } from "./health.ts";
import { importCases } from "./import-cases.ts";
import { listCases } from "./list-cases.ts";
import { listDeliveries } from "./list-deliveries.ts";
import { getReconciliation } from "./get-reconciliation.ts";
import { listReconciliations } from "./list-reconciliations.ts";
import { listPayments } from "./list-payments.ts";
import { playSandbox } from "./play-sandbox.ts";
import { reconcilePayments } from "./reconcile-payments.ts";
import { replayDeliveries } from "./replay-deliveries.ts";
import { replayDelivery } from "./replay-delivery.ts";
import { reversePayment } from "./reverse-payment.ts";
import { testMintLink } from "./test-mint-link.ts";
import { testWebhook } from "./test-webhook.ts";

/**
 * Every endpoint that lenders call (contract: Partner endpoints), in the order of the OpenAPI document. The router, the
 * document and the tests that try all endpoints read this list.
 */
export const ENDPOINTS: readonly Endpoint[] = [
  health,
  importCases,
  listCases,
  getCase,
  confirmPayment,
  reversePayment,
  listPayments,
  reconcilePayments,
  listReconciliations,
  getReconciliation,
  debugSignature,
  testWebhook,
  testMintLink,
  listDeliveries,
  getDelivery,
  replayDelivery,
  replayDeliveries,
  getReplay,
  createPortalLinkEndpoint,
  playSandbox,
];
