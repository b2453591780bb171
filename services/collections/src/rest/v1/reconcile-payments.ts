import {
  type CheckedPaymentRow,
  checkPaymentRow,
  MAX_RECONCILED_ROWS,
  MAX_WINDOW_DAYS,
  reconcile,
  reconciliationOf,
  ReconciliationRunningError,
} from "@collections/flows";
import { type ReconciliationCosts, reconciliationCosts, reconciliationRun, type RunKey } from "@collections/bookings";
import { inTurns } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { AmountLiteral } from "@collections/money";
import assert from "node:assert/strict";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { jsonInTurns } from "../../http/json-in-turns.ts";
import { type FieldFault, Problem, validationProblem } from "../../http/problem.ts";
import { idOfRequest } from "../caller/same-request.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { KIB, type SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { instant, LOAN_CHARACTERS, text } from "../reading/wire-types.ts";
import {
  RECONCILIATION_SCHEMAS,
  reconciliationBody,
  reconciliationExample,
  reconciliationRequestExample,
} from "./reconciliation-answer.ts";

const AMOUNT_KEYS = new Set(["amount"]);
const DAY_MS = 86_400_000;
const ROWS_A_PAGE = 1_000;
const MAX_WARNINGS = 20;
/** How many rows and booked payments the runs of a lender may compare in a minute (contract: Limits). */
const MAX_COMPARED_A_MINUTE = 200_000;
/** How many differences the stored runs of a lender may have (contract: Limits). */
const MAX_STORED = 1_000_000;

/** The body as the service parses it. Its rows are checked later, one by one. */
const reconciliationBodySchema = z.object({
  from: instant().meta({
    description: "The beginning of the window, which is included: ISO 8601 with Z or an offset.",
  }),
  to: instant().meta({
    description: `The end of the window, which is not included, at most ${MAX_WINDOW_DAYS} days later. It may be in the future.`,
  }),
  rows: z
    .array(z.unknown(), { error: ({ input }) => (input === undefined ? "is required" : "takes an array of rows") })
    .meta({ description: `All your payments of the window, at most ${MAX_RECONCILED_ROWS}.` }),
});

/** One of the lender's own payments, as the OpenAPI document describes it. `checkPaymentRow` checks the rows. */
const paymentToReconcile = z.object({
  loan: text(LOAN_CHARACTERS).meta({ description: "Your loan number." }),
  reference: text(128).meta({ description: "The `reference` with which you confirm the payment." }),
  amount: z.instanceof(AmountLiteral).meta({
    description: "The amount in major units, in the currency of the loan's case.",
    type: "number",
    exclusiveMinimum: 0,
  }),
  paidAt: instant().nullish().meta({ description: "When the payment was captured: ISO 8601 with Z or an offset." }),
});
const ROW_FIELDS = Object.keys(paymentToReconcile.shape);

const bodyWithRows = reconciliationBodySchema.extend({
  rows: z
    .array(paymentToReconcile)
    .max(MAX_RECONCILED_ROWS)
    .meta({ description: `All your payments of the window, at most ${MAX_RECONCILED_ROWS}.` }),
});

/** Compares a lender's own payments with the booked payments (contract: Reconciliation). */
export const reconcilePayments: SignedEndpoint = {
  name: "reconcile",
  method: "POST",
  path: "/api/v1/partner/payments/reconcile",
  limitBytes: 5 * KIB * KIB,
  operation: {
    id: "reconcilePayments",
    tag: "Payments",
    summary: "Compare your payments with the booked payments",
    description: [
      "Send all payments that you captured in a window, such as a day. The answer has the count and the sum of both sides",
      "and lists every difference. Each row and each payment of the window matches, or is in exactly one list. The call",
      "changes no payment. The result is stored as a run. A request with the same signature gets the same run again. A later",
      "run of the same window also lists the differences that no longer exist. One call of a lender runs at a time: a",
      "call beside it is answered with 429 `RATE_LIMITED`. While the calls of other lenders use all places,",
      "the answer is 503 `SERVICE_UNAVAILABLE`. Send the same bytes again after `Retry-After` seconds.",
    ].join("\n"),
    request: {
      schemas: { ReconciliationRequest: bodyWithRows, PaymentToReconcile: paymentToReconcile },
      required: true,
      examples: { "Two payments of a day": reconciliationRequestExample },
    },
    answers: {
      200: {
        description: "The result of the comparison.",
        schemas: RECONCILIATION_SCHEMAS,
        examples: { "A payment that is not booked": reconciliationExample },
      },
    },
    problems: ["REQUIRED", "WRONG_TYPE", "INVALID_DATE", "NOT_UTC", "TOO_MANY_ROWS"],
  },
  handle: answerReconciliation,
};

async function answerReconciliation(request: SignedRequest, app: App): Promise<Answer> {
  // Take the slot before the body is parsed, so that a refusal costs little.
  const id = { lenderId: request.lender.id, requestId: idOfRequest(request) };
  return app.reconciliationSlots.compare.run(id, () => compared(request, app));
}

/**
 * Refuses a request of a lender whose earlier runs have compared or stored too much. A repeat of a request whose run is
 * stored costs little, so it is answered.
 * @throws Problem RATE_LIMITED
 */
async function admitReconciliation(em: EntityManager, run: RunKey): Promise<void> {
  const { recent, stored } = await reconciliationCosts(em, run.lenderId);
  const waitMs = waitForAllowance(recent);
  if (waitMs === 0 && stored < MAX_STORED) return;
  if (await reconciliationRun(em, run)) return;
  const [detail, waitS] =
    waitMs > 0
      ? [
          `The runs of the last minute compared more than ${MAX_COMPARED_A_MINUTE} rows and booked payments.`,
          Math.ceil(waitMs / 1_000),
        ]
      : [`The stored runs have more than ${MAX_STORED} differences. Ask the operator to compare a file.`, 3_600];
  throw new Problem("RATE_LIMITED", detail, {}, { "Retry-After": String(waitS) });
}

/** Returns how long until the runs of the last minute have compared less than the maximum; 0 if they have now. */
function waitForAllowance(recent: ReconciliationCosts["recent"]): number {
  let compared = recent.reduce((sum, run) => sum + run.compared, 0);
  let waitMs = 0;
  for (const run of recent) {
    if (compared < MAX_COMPARED_A_MINUTE) break;
    compared -= run.compared;
    waitMs = Math.max(60_000 - run.agoMs, 1);
  }
  return waitMs;
}

async function compared(request: SignedRequest, { database, log }: App): Promise<Answer> {
  await admitReconciliation(database.em(), { lenderId: request.lender.id, runId: idOfRequest(request) });
  const { window, rows, warnings } = readReconciliation(request);
  const checked = await inTurns(rows, checkPaymentRow);
  const { lender, keyId } = request;
  const run = { lenderId: lender.id, runId: idOfRequest(request) };
  await reconcile(database.em(), {
    lender,
    runId: run.runId,
    requestedBy: keyId,
    fileName: null,
    window,
    rows: pagesOf(checked),
    mostPerList: MAX_RECONCILED_ROWS,
    log,
  }).catch((error: unknown) => {
    throw error instanceof ReconciliationRunningError ? new Problem("RATE_LIMITED", error.message) : error;
  });
  const result = await reconciliationOf(database.em(), run, MAX_RECONCILED_ROWS);
  assert.ok(result, "The run is stored, and runs are deleted only after 90 days.");
  const body = await reconciliationBody(result, warnings);
  return { status: 200, body, text: await jsonInTurns(body) };
}

function readReconciliation(request: SignedRequest) {
  const body = jsonObject(request, AMOUNT_KEYS);
  const parsed = reconciliationBodySchema.safeParse(body);
  const warnings = [
    ...unknownFieldWarnings(body, Object.keys(reconciliationBodySchema.shape)),
    ...unknownRowFieldWarnings(body["rows"]),
  ];
  const extra = warnings.length > 0 ? { warnings } : {};
  if (!parsed.success) throw validationProblem(fieldFaults(parsed.error, body), extra);
  const { from, to, rows } = parsed.data;
  const fault = windowFault(from, to);
  if (fault) throw validationProblem([fault], extra);
  if (rows.length > MAX_RECONCILED_ROWS) {
    const detail = `Send at most ${MAX_RECONCILED_ROWS} rows at a time, and divide a longer day by time; got ${rows.length}.`;
    throw new Problem("TOO_MANY_ROWS", detail, extra);
  }
  return { window: { from, to }, rows, warnings };
}

function windowFault(from: Date, to: Date): FieldFault | undefined {
  const lengthMs = to.getTime() - from.getTime();
  if (lengthMs > 0 && lengthMs <= MAX_WINDOW_DAYS * DAY_MS) return undefined;
  const detail = `to: takes a time after from, and at most ${MAX_WINDOW_DAYS} days later.`;
  return { code: "INVALID_DATE", pointer: "/to", detail };
}

function unknownRowFieldWarnings(rows: unknown): Warning[] {
  const warnings: Warning[] = [];
  for (const [index, row] of Array.isArray(rows) ? rows.entries() : []) {
    if (typeof row !== "object" || row === null || Array.isArray(row)) continue;
    const found = unknownFieldWarnings(row as Record<string, unknown>, ROW_FIELDS);
    warnings.push(...found.map((warning) => ({ ...warning, pointer: `/rows/${index}${warning.pointer}` })));
    if (warnings.length >= MAX_WARNINGS) break;
  }
  return warnings.slice(0, MAX_WARNINGS);
}

function* pagesOf(rows: readonly CheckedPaymentRow[]): Generator<readonly CheckedPaymentRow[]> {
  for (let first = 0; first < rows.length; first += ROWS_A_PAGE) yield rows.slice(first, first + ROWS_A_PAGE);
}
