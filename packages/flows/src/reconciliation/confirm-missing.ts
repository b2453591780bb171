import { differencesOf, type ReconciliationDifference, type RunKey } from "@collections/bookings";
import { requireUnchangedRun } from "./unchanged-run.ts";
import type { EntityManager } from "@collections/database";
import { AmountLiteral, toDecimal } from "@collections/money";
import type { Confirmation } from "../payment/confirmation.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
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
  /** The positions of rows that are booked although their amount looks like minor units. */
  readonly inMajorUnits?: ReadonlySet<number>;
}

const ROWS_A_PAGE = 64;

/**
 * Confirms the payments that a run found only in the lender's rows, and yields the result of each page. The payments are
 * booked like any confirmation, so confirming them twice does no harm. A row without a mode is confirmed as `other`. A row
 * without a time is not confirmed, because the time decides whether a balance includes the payment. Neither is an amount of
 * exactly 100 times what is owed, unless `inMajorUnits` has the position of its row. `run` has the digest of the run that
 * was shown: if the stored run has another one, nothing is confirmed. Throws ReconciliationChangedError.
 *
 * @example
 * const shown = (await reconciliationOf(em, { lenderId, runId }, 500))!.run;
 * const run = { lenderId, runId, digest: shown.digest };
 * for await (const { booked, refused } of confirmMissing(em, run, lender, { environment: "live" })) {
 *   console.log(booked, refused.map(({ detail }) => detail));
 * }
 */
export async function* confirmMissing(
  em: EntityManager,
  run: RunKey & { readonly digest: Buffer | null },
  lender: Confirmation["lender"],
  rules: ConfirmingRules,
): AsyncGenerator<ConfirmedPage> {
  await requireUnchangedRun(em, run);
  let after: number | undefined;
  for (;;) {
    const page = await differencesOf(em, run, "onlyYours", { after, limit: ROWS_A_PAGE });
    const last = page.at(-1);
    if (!last) return;
    after = last.place;
    yield await confirmPage(em, page, lender, rules);
  }
}

async function confirmPage(
  em: EntityManager,
  page: readonly ReconciliationDifference[],
  lender: Confirmation["lender"],
  { environment, inMajorUnits = new Set() }: ConfirmingRules,
): Promise<ConfirmedPage> {
  const refused: UnconfirmedRow[] = [];
  const asked = page.flatMap((difference) => {
    const confirmation = confirmationOf(difference, lender, inMajorUnits.has(difference.position!));
    if (confirmation) return [{ difference, confirmation }];
    refused.push(unconfirmed(difference, "REQUIRED", "The row does not say when the payment was captured."));
    return [];
  });
  const confirmations = asked.map(({ confirmation }) => confirmation);
  const outcomes = confirmations.length === 0 ? [] : await confirmPayments(em, confirmations, environment);
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.kind !== "refused") continue;
    refused.push(unconfirmed(asked[index]!.difference, outcome.code, outcome.detail));
  }
  const counts = Map.groupBy(outcomes, ({ kind }) => kind);
  return { booked: counts.get("booked")?.length ?? 0, alreadyBooked: counts.get("duplicate")?.length ?? 0, refused };
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
