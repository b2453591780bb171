import type { Answer, LenderClient } from "./client.ts";
import { confirmUntilAnswered, isBooked, type Patience, reconcileUntilAnswered } from "./until-answered.ts";

/** A captured payment in the lender's own list. `amount` is in major units. */
export interface OwnPayment {
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly amount: number;
  readonly paidAt: string;
  /** The confirmation's bytes. They have the mode and the link, which an answer does not know. */
  readonly body: string;
}

/** A window of time: ISO 8601. `from` is included, `to` is not. */
export interface DayWindow {
  readonly from: string;
  readonly to: string;
}

/** A difference between the lender's list and the service's. `reference` is null if a row could not be read. */
export interface DayDifference {
  readonly loan: string | null;
  readonly reference: string | null;
}

/** A run of a reconciliation, as far as the lender reads it (contract: Reconciliation). */
export interface DayRun {
  readonly runId: string;
  readonly clean: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly onlyYours: readonly (DayDifference & { readonly confirm: object | null })[];
  readonly reversed: readonly DayDifference[];
}

/** The result of reconciling a day. */
export interface ReconciledDay {
  /** The first answer, with every difference that was found. */
  readonly first: DayRun;
  /** The payments of `onlyYours` that are booked now, with the service's answers. */
  readonly confirmed: readonly { readonly payment: OwnPayment; readonly answer: Answer }[];
  /** The last answer, read again by its `runId`. Equals `first` if nothing was confirmed. */
  readonly last: DayRun;
}

/** The service answered a step of the reconciliation with something else than the contract says. */
export class ReconciliationFailedError extends Error {
  readonly code = "RECONCILIATION_FAILED";

  constructor(step: string, { status, rawBody }: Pick<Answer, "status" | "rawBody">) {
    super(`${step} was answered ${status}: ${rawBody.slice(0, 300)}`);
    this.name = "ReconciliationFailedError";
  }
}

/**
 * Reconciles a day as the lender does it on the next morning. Sends all payments of the window, confirms the payments of
 * `onlyYours` with their own bytes, compares once more, and reads that run again. Payments of every other list are left
 * alone, because a person has to look at them.
 */
export async function reconcileDay(
  client: LenderClient,
  payments: readonly OwnPayment[],
  window: DayWindow,
  patience: Patience,
): Promise<ReconciledDay> {
  const [from, to] = [Date.parse(window.from), Date.parse(window.to)];
  const own = payments.filter(({ paidAt }) => from <= Date.parse(paidAt) && Date.parse(paidAt) < to);
  const rows = own.map(({ sourceLoanNumber: loan, reference, amount, paidAt }) => ({
    loan,
    reference,
    amount,
    paidAt,
  }));
  const compare = async () => {
    const { answer } = await reconcileUntilAnswered(client, JSON.stringify({ ...window, rows }), patience);
    return runIn("POST payments/reconcile", answer);
  };
  const first = await compare();
  const confirmed = await confirmMissing(client, own, first, patience);
  const { runId } = confirmed.length === 0 ? first : await compare();
  const last = runIn(`GET payments/reconcile/${runId}`, await client.getReconciliation(runId));
  return { first, confirmed, last };
}

async function confirmMissing(
  client: LenderClient,
  own: readonly OwnPayment[],
  { onlyYours }: DayRun,
  patience: Patience,
): Promise<ReconciledDay["confirmed"]> {
  const byKey = new Map(own.map((payment) => [keyOf(payment.sourceLoanNumber, payment.reference), payment]));
  const confirmed: { payment: OwnPayment; answer: Answer }[] = [];
  for (const { loan, reference, confirm } of onlyYours) {
    const payment = byKey.get(keyOf(loan, reference));
    // Without a case for the loan there is no call: the loan has to be imported first.
    if (confirm === null || payment === undefined) continue;
    const { answer } = await confirmUntilAnswered(client, payment.sourceLoanNumber, payment.body, patience);
    if (!isBooked(answer)) throw new ReconciliationFailedError(`The confirmation of ${reference}`, answer);
    confirmed.push({ payment, answer });
  }
  return confirmed;
}

function runIn(step: string, answer: Answer): DayRun {
  if (answer.status !== 200) throw new ReconciliationFailedError(step, answer);
  return answer.body as unknown as DayRun;
}

function keyOf(loan: string | null, reference: string | null): string {
  return JSON.stringify([loan, reference?.normalize("NFC")]);
}
