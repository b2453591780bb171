import { type OwnPayment, reconcileDay } from "@collections/lender-twin";
import type { Stage } from "../stage/stage.ts";
import type { Model, Payment } from "../traffic/model.ts";

/** The invariant that `lenderReconciles` checks. */
export const LENDER_RECONCILES = "the lender confirms what is missing, and then its reconciliation has no difference";

/** The most payments of one call. Smaller than the limit of the contract, so that windows can be moved by some rows. */
const ROWS_A_CALL = 9_000;
const GIVE_UP_AFTER_MS = 120_000;

/** The part of a stage that `lenderReconciles` uses. */
interface ReconcilingStage {
  readonly lender: Stage["lender"];
  readonly servers: Pick<Stage["servers"], "urls">;
  readonly model: Pick<Model, "payments" | "reversals">;
}

/**
 * Reconciles all payments of the run by the API, as a lender does on the next morning. Payments whose answer was lost are
 * confirmed. Returns a sentence for each difference afterwards that no reversal explains. Call it after the other
 * invariants were checked, because it books payments.
 */
export async function lenderReconciles({ lender, servers, model }: ReconcilingStage): Promise<string[]> {
  lender.connect({ serviceUrl: servers.urls[0]! });
  const found: string[] = [];
  for (const payments of callsOf([...model.payments.values()].map(ownPayment))) {
    const window = windowOf(payments);
    const patience = { giveUpAfterMs: GIVE_UP_AFTER_MS, signal: new AbortController().signal };
    const { last } = await reconcileDay(lender, payments, window, patience);
    found.push(...unexplained(last, model));
  }
  return found;
}

/** Returns the differences of a run that no reversal explains. */
export function unexplained(
  { runId, counts, reversed }: Awaited<ReturnType<typeof reconcileDay>>["last"],
  { reversals }: Pick<Model, "reversals">,
): string[] {
  const references = new Set([...reversals.values()].map(({ reference }) => reference));
  const lists = Object.entries(counts).filter(([list]) => list !== "matched" && list !== "reversed");
  return [
    ...lists.filter(([, count]) => count > 0).map(([list, count]) => `${count} payments are in ${list} of ${runId}`),
    ...reversed
      .filter(({ reference }) => !references.has(reference ?? ""))
      .map(({ reference }) => `${reference} is in reversed of ${runId}, but no client reversed it`),
  ];
}

function ownPayment({ loan, body }: Payment): OwnPayment {
  const { reference, amount, paidAt } = JSON.parse(body) as Pick<OwnPayment, "reference" | "amount" | "paidAt">;
  return { sourceLoanNumber: loan, reference, amount, paidAt, body };
}

/** Divides payments by time, so that payments of one millisecond stay together. */
function callsOf(payments: readonly OwnPayment[]): OwnPayment[][] {
  const calls: OwnPayment[][] = [];
  for (const payment of payments.toSorted((one, other) => Date.parse(one.paidAt) - Date.parse(other.paidAt))) {
    const call = calls.at(-1);
    if (call && (call.length < ROWS_A_CALL || call.at(-1)!.paidAt === payment.paidAt)) call.push(payment);
    else calls.push([payment]);
  }
  return calls;
}

/** Returns the window from the first payment to the last one. */
function windowOf(payments: readonly OwnPayment[]): { from: string; to: string } {
  const after = Date.parse(payments.at(-1)!.paidAt) + 1;
  return { from: payments[0]!.paidAt, to: new Date(after).toISOString() };
}
