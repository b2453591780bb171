import { type BookedPayment, differencesOf, type ReconciliationDifference, type RunKey } from "@collections/bookings";
import type { EntityManager } from "@collections/entities";
import { dayIn } from "@collections/local-time";
import { AmountLiteral, toDecimal } from "@collections/money";
import { bookedSince, type SinceRun } from "./booked-since.ts";
import type { KnownSequences } from "./known-sequences.ts";
import { requireUnchangedRun } from "./unchanged-run.ts";
import type { Confirmation } from "../payment/confirmation.ts";
import { confirmLocked, withLockedCases } from "../payment/confirm-payments.ts";
import { paymentMode } from "../payment/payment-mode.ts";

/** A row that was not confirmed, and the reason. */
export interface UnconfirmedRow {
  readonly position: number;
  readonly loan: string;
  readonly reference: string;
  readonly code: string;
  readonly detail: string;
}

/** The result of confirming a page of missing payments. */
export interface ConfirmedPage {
  readonly booked: number;
  /** Payments that were booked after the run. */
  readonly alreadyBooked: number;
  readonly refused: readonly UnconfirmedRow[];
}

/** How missing payments are confirmed. */
export interface ConfirmingRules {
  readonly environment: string;
  /** The sequences that the run has filled in. */
  readonly known: KnownSequences;
  /** The positions of rows that are booked although their amount looks like minor units. */
  readonly inMajorUnits?: ReadonlySet<number>;
}

const ROWS_A_PAGE = 64;

/**
 * Confirms the payments that a run found only in the lender's rows, and yields the result of each page. The payments are
 * booked like any confirmation, so confirming them twice does no harm. A row without a mode is confirmed as `other`. A row
 * without a time is not confirmed, because the time decides whether a balance includes the payment. Neither is an amount of
 * exactly 100 times what is owed, unless `inMajorUnits` has the position of its row. Nor is a payment that was booked after
 * the comparison under another reference, by the rules of `referenceDiffers`. `run` has the digest of the run that
 * was shown: if the stored run has another one, nothing is confirmed. Throws ReconciliationChangedError.
 *
 * @example
 * const shown = (await reconciliationOf(em, { lenderId, runId }, 500))!.run;
 * const run = { lenderId, runId, digest: shown.digest };
 * const rules = { environment: "live", known: new KnownSequences() };
 * for await (const { booked, refused } of confirmMissing(em, run, lender, rules)) {
 *   console.log(booked, refused.map(({ detail }) => detail));
 * }
 */
export async function* confirmMissing(
  em: EntityManager,
  run: RunKey & { readonly digest: Buffer | null },
  lender: Confirmation["lender"] & { readonly timeZone: string },
  rules: ConfirmingRules,
): AsyncGenerator<ConfirmedPage> {
  const { windowFrom: from, windowTo: to } = await requireUnchangedRun(em, run);
  const pairing = { window: { from, to }, dayOf: (at: Date) => dayIn(lender.timeZone, at) };
  const since = { run, known: rules.known, pairing };
  let after: number | undefined;
  for (;;) {
    const page = await differencesOf(em, run, "onlyYours", { after, limit: ROWS_A_PAGE });
    const last = page.at(-1);
    if (!last) return;
    after = last.place;
    yield await confirmPage(em, page, lender, { ...rules, since });
  }
}

async function confirmPage(
  em: EntityManager,
  page: readonly ReconciliationDifference[],
  lender: Confirmation["lender"],
  { environment, inMajorUnits = new Set(), since }: ConfirmingRules & { readonly since: SinceRun },
): Promise<ConfirmedPage> {
  const refused: UnconfirmedRow[] = [];
  const asked = page.flatMap((difference) => {
    const confirmation = confirmationOf(difference, lender, inMajorUnits.has(difference.position!));
    if (confirmation) return [{ difference, confirmation }];
    refused.push(unconfirmed(difference, "REQUIRED", "The row does not say when the payment was captured."));
    return [];
  });
  const confirmations = asked.map(({ confirmation }) => confirmation);
  if (confirmations.length === 0) return { booked: 0, alreadyBooked: 0, refused };
  // A confirmation locks the case, too. So no payment of these loans is booked between this look-up and the commit.
  const { found, toBook, outcomes } = await withLockedCases(em, confirmations, async (tx, lockedCases) => {
    const missing = asked.map(({ difference }) => difference);
    const found = await bookedSince(tx, lockedCases, missing, since);
    const toBook = asked.filter(({ difference }) => !found.has(difference.position!));
    const left = toBook.map(({ confirmation }) => confirmation);
    return { found, toBook, outcomes: await confirmLocked(tx, lockedCases, left, environment) };
  });
  for (const { difference } of asked) {
    const payment = found.get(difference.position!);
    if (payment) refused.push(unconfirmed(difference, "REFERENCE_DIFFERS", bookedAs(payment)));
  }
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind !== "refused") continue;
    refused.push(unconfirmed(toBook[index]!.difference, outcome.code, outcome.detail));
  }
  const counts = Map.groupBy(outcomes, ({ kind }) => kind);
  return { booked: counts.get("booked")?.length ?? 0, alreadyBooked: counts.get("duplicate")?.length ?? 0, refused };
}

function bookedAs({ reference, amountMinor, currency }: BookedPayment): string {
  return (
    `After the comparison, ${toDecimal(amountMinor, currency)} ${currency} was booked on this loan under the reference ` +
    `${reference}, which is probably this payment. If it is, correct the reference in the file. If the row is a payment of its ` +
    "own, compare the file again: the result has the call that confirms the row."
  );
}

function confirmationOf(
  { loan, reference, rowMinor, rowCurrency, rowPaidAt, rowMode }: ReconciliationDifference,
  lender: Confirmation["lender"],
  amountIsMajorUnits: boolean,
): Confirmation | undefined {
  if (rowPaidAt === null) return undefined;
  const { mode, rawMode, warnings } = paymentMode(rowMode ?? "other") ?? paymentMode("other")!;
  return {
    lender,
    loan: loan!,
    amount: new AmountLiteral(toDecimal(rowMinor!, rowCurrency!)),
    amountIsMajorUnits,
    reference: reference!,
    paidAt: rowPaidAt,
    mode,
    rawMode,
    linkId: null,
    warnings,
    acceptedAt: new Date(),
  };
}

function unconfirmed(
  { position, loan, reference }: ReconciliationDifference,
  code: string,
  detail: string,
): UnconfirmedRow {
  return { position: position!, loan: loan!, reference: reference!, code, detail };
}
