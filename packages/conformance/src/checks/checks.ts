import { answerChecks } from "./answer-checks.ts";
import type { Check } from "./check.ts";
import { mintChecks } from "./mint-checks.ts";
import { mintRepeatChecks } from "./mint-repeat-checks.ts";
import { receiverBodyChecks } from "./receiver-body-checks.ts";
import { receiverFirstChecks } from "./receiver-first-checks.ts";
import { receiverOrderChecks } from "./receiver-order-checks.ts";
import { receiverSignatureChecks } from "./receiver-signature-checks.ts";
import { reconcileChecks } from "./reconcile-checks.ts";

/**
 * Every check, in the order in which they run.
 *
 * @example
 * for (const { name, title } of CHECKS) console.log(`${name}: ${title}`);
 */
export const CHECKS: readonly Check[] = [
  ...receiverFirstChecks,
  ...receiverSignatureChecks,
  ...receiverOrderChecks,
  ...receiverBodyChecks,
  ...answerChecks("receiver"),
  ...mintChecks,
  ...mintRepeatChecks,
  ...answerChecks("mint"),
  ...reconcileChecks,
];

/** For each endpoint, the check that must pass before its other checks run. */
export const FIRST_OF = { receiver: "receiver.event", mint: "mint.link", reconcile: "reconcile.request" } as const;
export const ALWAYS_RUN: readonly string[] = Object.keys(FIRST_OF).flatMap((endpoint) => [
  `${endpoint}.answer-time`,
  `${endpoint}.no-redirect`,
]);
