import { type EntityManager, publicId, transaction, type Tx } from "@collections/database";
import {
  type Credited,
  creditedOf,
  lockCredited,
  lockReference,
  type Payout,
  payoutByReference,
  payoutDifferences,
  payoutOf,
  type PayoutOrder,
  payOut,
  spanOfDay,
} from "@collections/earnings";
import { type FieldPartner, fieldPartnerById } from "@collections/field-partners";
import { payout as payoutPostings, postTransfers } from "@collections/ledger";
import { recordAct } from "@collections/lenders";
import { dayIn } from "./app-request.ts";

/** What an operator has sent a field partner. `amountMinor`, if given, is what it has to come to. */
export type PayoutToRecord = PayoutOrder & { readonly amountMinor?: bigint | undefined };

/** What became of a payout that an operator wants to record. Nothing was changed unless it is `recorded`. */
export type RecordPayoutOutcome =
  | { readonly kind: "recorded"; readonly payout: Payout }
  /** It is known already, just so. */
  | { readonly kind: "repeated"; readonly payout: Payout }
  /** The reference names a payout that differs in these fields. */
  | { readonly kind: "reference_taken"; readonly payout: Payout; readonly differences: readonly string[] }
  | { readonly kind: "field_partner_not_found" }
  /** A day that has not come. */
  | { readonly kind: "in_future"; readonly field: "paidOn" | "until"; readonly today: string }
  /** Nothing is credited in this currency; what is, in others. */
  | { readonly kind: "nothing_to_pay"; readonly credited: readonly Credited[] }
  | { readonly kind: "amount_differs"; readonly creditedMinor: bigint };

/** Where the calendar is furthest ahead: a bank anywhere may be there already. */
const FIRST_TIME_ZONE = "Pacific/Kiritimati";

/**
 * Records that a field partner was sent what is credited in one currency, at all lenders, up to `until`: the lines, the
 * books and the audit in one transaction. The reference is its idempotency key, for good.
 */
export async function recordPayout(
  em: EntityManager,
  wanted: PayoutToRecord,
  now: Date = new Date(),
): Promise<RecordPayoutOutcome> {
  return transaction(em, async (tx) => {
    const { fieldPartnerId, currency, reference, amountMinor } = wanted;
    await lockReference(tx, reference);
    const fieldPartner = await fieldPartnerById(tx, fieldPartnerId);
    if (!fieldPartner) return { kind: "field_partner_not_found" };
    const known = await payoutByReference(tx, reference);
    if (known) return compared(known, wanted);
    const future = dayThatHasNotCome(wanted, fieldPartner, now);
    if (future) return future;

    // Hold what is owed, and hold it against what the operator expects.
    const before = endOf(wanted.until, fieldPartner);
    const lines = await lockCredited(tx, { fieldPartnerId, currency, before });
    if (lines.length === 0) return { kind: "nothing_to_pay", credited: await creditedOf(tx, fieldPartnerId, before) };
    const payout = payoutOf(lines, orderOf(wanted), now);
    if (amountMinor !== undefined && amountMinor !== payout.amountMinor) {
      return { kind: "amount_differs", creditedMinor: payout.amountMinor };
    }

    // Write the payout with its lines, the books of each lender, and the act.
    payOut(tx, payout, lines);
    const paidAt = spanOfDay(payout.paidOn, fieldPartner.timeZone).from;
    postTransfers(
      tx,
      lines.flatMap((line) => payoutPostings(line, { reference, paidAt, now })),
    );
    recordActs(tx, payout, now);
    return { kind: "recorded", payout };
  });
}

/** What could be paid out to a field partner now, by lender and currency; undefined when there is no such person. */
export async function payoutPreview(
  em: EntityManager,
  fieldPartnerId: string,
  until: string | null,
): Promise<readonly Credited[] | undefined> {
  const fieldPartner = await fieldPartnerById(em, fieldPartnerId);
  return fieldPartner && creditedOf(em, fieldPartnerId, endOf(until, fieldPartner));
}

function compared(payout: Payout, wanted: PayoutToRecord): RecordPayoutOutcome {
  const isOtherAmount = wanted.amountMinor !== undefined && wanted.amountMinor !== payout.amountMinor;
  const differences = [...payoutDifferences(payout, wanted), ...(isOtherAmount ? ["amount"] : [])];
  return differences.length === 0 ? { kind: "repeated", payout } : { kind: "reference_taken", payout, differences };
}

function dayThatHasNotCome(
  { paidOn, until }: PayoutOrder,
  { timeZone }: FieldPartner,
  now: Date,
): RecordPayoutOutcome | undefined {
  const [latest, today] = [dayIn(FIRST_TIME_ZONE, now), dayIn(timeZone, now)];
  if (paidOn > latest) return { kind: "in_future", field: "paidOn", today: latest };
  return until !== null && until > today ? { kind: "in_future", field: "until", today } : undefined;
}

function endOf(until: string | null, { timeZone }: FieldPartner): Date | undefined {
  return until === null ? undefined : spanOfDay(until, timeZone).to;
}

function orderOf({ fieldPartnerId, currency, reference, paidOn, until }: PayoutToRecord): PayoutOrder {
  return { fieldPartnerId, currency, reference, paidOn, until };
}

/** Each lender's audit has its own part. */
function recordActs(tx: Tx, { id, fieldPartnerId, reference, currency, parts }: Payout, now: Date): void {
  const shared = { payoutId: publicId("po", id), fieldPartnerId: publicId("fp", fieldPartnerId), reference, currency };
  for (const { lenderId, lines, amountMinor } of parts) {
    const data = { ...shared, lines, amountMinor: amountMinor.toString() };
    recordAct(tx, { lenderId, act: "payout.recorded", data }, now);
  }
}
