import { REVERSAL_REASONS } from "@collections/bookings";
import { hasInvisible, readInstant, storedLoanNumber } from "@collections/cases";
import { parsePublicId } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import {
  type MoveOutcome,
  movePayment,
  paymentHistory,
  payoutPreview,
  type PayoutToRecord,
  recordPayout,
  type RecordPayoutOutcome,
  type ReversalEffects,
  type ReversalOutcome,
  reversePayment,
} from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { instantOf, timeIn } from "@collections/local-time";
import { AmountLiteral, type CurrencyCode, isCurrency, readAmount, toDecimal } from "@collections/money";
import { fieldPartnerById } from "@collections/field-partners";
import type { Acting, DeskOutcome } from "../acts.ts";
import { amountText } from "../amount-text.ts";
import { payable } from "./payable.ts";

/** A payment of a lender. */
export interface DeskPayment {
  readonly lenderCode: string;
  readonly loan: string;
  readonly reference: string;
}

/** A payout that was sent. `until` is the time up to which credited earnings count; empty for all. */
export interface PayoutOrder {
  readonly kind: "payout";
  readonly fieldPartnerId: string;
  readonly currency: string;
  readonly amount: string;
  readonly reference: string;
  readonly paidOn: string;
  readonly until: string;
}

/** A reversal of a payment. An empty amount is all that is left. `reversedAt` is a local time of the lender, or has a zone. */
export interface ReversalOrder extends DeskPayment {
  readonly kind: "reversal";
  readonly reversalReference: string;
  readonly reversedAt: string;
  readonly amount: string;
  readonly because: string;
  readonly note: string;
}

/** A move of a payment to another loan. */
export interface MoveOrder extends DeskPayment {
  readonly kind: "move";
  readonly toLoan: string;
  readonly note: string;
}

/** A change of money that an operator asks for. The texts are as the operator has typed them. */
export type MoneyOrder = PayoutOrder | ReversalOrder | MoveOrder;

/** The effects of a change. `order` asks for exactly these effects, whatever happens meanwhile. */
export interface MoneyRehearsal {
  readonly kind: "possible";
  readonly order: MoneyOrder;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
}

type Refused = Exclude<DeskOutcome, { kind: "done" }>;

/** The confirmation of a change by a second person. */
export interface SecondConfirmation {
  /** The operator who asked for the change. */
  readonly askedBy: string;
  /** Records the confirmation in the transaction of the change. If it throws, nothing is changed. */
  readonly record: (tx: Tx) => Promise<void>;
}

interface Run {
  readonly dryRun: boolean;
  readonly confirmation?: SecondConfirmation | undefined;
}

const REFERENCE_CHARACTERS = 128;
const PAYOUT_REFERENCE = /^[\x20-\x7e]{1,64}$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Returns a payment with what is left of it, for a page. Undefined if there is no such payment. */
export async function paymentFromDesk(acting: Acting, given: DeskPayment) {
  const named = await namedPayment(acting, given);
  const history = named && (await paymentHistory(acting.em(), named));
  if (!named || !history) return undefined;
  const { booking, remaining, reversals } = history;
  const { lender } = named;
  const { currency } = booking;
  const local = (at: Date) => timeIn(lender.timeZone, at);
  return {
    lenderCode: lender.code,
    timeZone: lender.timeZone,
    sourceLoanNumber: booking.sourceLoanNumber,
    reference: booking.reference,
    currency,
    amount: toDecimal(booking.amountMinor, currency),
    left: toDecimal(remaining.appliedMinor + remaining.excessMinor, currency),
    paidAt: local(booking.paidAt),
    mode: booking.mode,
    reversals: reversals.map((one) => ({
      reversalReference: one.reversalReference,
      amount: toDecimal(one.amountMinor, currency),
      reason: one.reason,
      reversedAt: local(one.reversedAt),
    })),
    reasons: REVERSAL_REASONS,
  };
}

/** Returns what can be paid out to a field partner now. Undefined for an unknown id. */
export async function payableFromDesk({ em }: Acting, given: string) {
  const id = parsePublicId("fp", given);
  const [person, found] =
    id === undefined ? [] : [await fieldPartnerById(em(), id), await payoutPreview(em(), id, null)];
  if (!person || !found) return undefined;
  return {
    fieldPartnerId: given,
    displayName: person.displayName,
    until: found.asOf?.toISOString() ?? null,
    sums: payable(found.credited, new Map()).map(({ currency, amount, lines }) => ({ currency, amount, lines })),
  };
}

/** Finds out what a change would do. Changes nothing. */
export async function rehearseChange(acting: Acting, order: MoneyOrder): Promise<MoneyRehearsal | Refused> {
  switch (order.kind) {
    case "payout":
      return rehearsePayout(acting, order);
    case "reversal":
      return rehearseReversal(acting, order);
    case "move":
      return rehearseMove(acting, order);
  }
}

/** Makes a change, with its confirmation if a second person confirms it. A repeat of the same order changes nothing. */
export async function changeFromDesk(
  acting: Acting,
  order: MoneyOrder,
  confirmation?: SecondConfirmation,
): Promise<DeskOutcome> {
  switch (order.kind) {
    case "payout": {
      const read = await readPayout(acting, order);
      if ("kind" in read) return read;
      const outcome = await recordPayout(acting.em(), read.wanted, new Date(), { alsoWrite: confirmation?.record });
      return outcome.kind === "recorded" || outcome.kind === "repeated"
        ? DONE
        : refused(whyNoPayout(outcome, read.wanted));
    }
    case "reversal": {
      const outcome = await runReversal(acting, order, { dryRun: false, confirmation });
      return outcome.kind === "reversed" ? DONE : outcome;
    }
    case "move": {
      const outcome = await runMove(acting, order, { dryRun: false, confirmation });
      return outcome.kind === "moved" ? DONE : outcome;
    }
  }
}

async function rehearsePayout(acting: Acting, order: PayoutOrder): Promise<MoneyRehearsal | Refused> {
  const read = await readPayout(acting, order);
  if ("kind" in read) return read;
  const { wanted, displayName } = read;
  const { currency, amountMinor } = wanted;
  const found = await payoutPreview(acting.em(), wanted.fieldPartnerId, wanted.until);
  const credited = (found?.credited ?? []).filter((sum) => sum.currency === currency);
  const [sum] = payable(credited, new Map());
  if (!sum) return refused(`Nothing is credited in ${currency}.`);
  if (sum.amount !== toDecimal(amountMinor, currency)) {
    return refused(`The credited earnings are ${sum.amount} ${currency}, not ${toDecimal(amountMinor, currency)}.`);
  }
  const facts = [
    ["Field partner", displayName],
    ["Amount", amountText(amountMinor, currency)],
    ["Earnings", String(sum.lines)],
    ["Bank reference", wanted.reference],
    ["Paid on", wanted.paidOn],
  ] as const;
  return { kind: "possible", order, facts, amountMinor, currency };
}

async function readPayout({ em }: Acting, order: PayoutOrder) {
  const id = parsePublicId("fp", order.fieldPartnerId);
  const person = id === undefined ? undefined : await fieldPartnerById(em(), id);
  if (!person) return NOT_FOUND;
  const { currency } = order;
  if (!isCurrency(currency)) return refused("Choose a currency.");
  const amount = readAmount(order.amount.trim(), currency);
  if ("fault" in amount) return refused(`Amount: ${amount.detail}`);
  const reference = order.reference.trim();
  if (!PAYOUT_REFERENCE.test(reference)) return refused("The bank reference has 1 to 64 printable ASCII characters.");
  if (!isDay(order.paidOn)) return refused("Give the day of the transfer.");
  const until = order.until === "" ? null : readInstant(order.until);
  if (until !== null && !("instant" in until)) return refused("Open the page of the payout again.");
  const wanted: PayoutToRecord = {
    fieldPartnerId: person.id,
    currency,
    amountMinor: amount.minor,
    reference,
    paidOn: order.paidOn,
    until: until && until.instant.toISOString(),
  };
  return { wanted, displayName: person.displayName };
}

async function rehearseReversal(acting: Acting, order: ReversalOrder): Promise<MoneyRehearsal | Refused> {
  const outcome = await runReversal(acting, order, { dryRun: true });
  if (outcome.kind !== "reversed") return outcome;
  const { reversal, effects, paymentMinor } = outcome;
  if (!effects) return refused(`The reversal ${reversal.reversalReference} is recorded already.`);
  const { currency, amountMinor } = reversal;
  const exact = { amount: toDecimal(amountMinor, currency), reversedAt: reversal.reversedAt.toISOString() };
  return {
    kind: "possible",
    order: { ...order, ...exact },
    facts: [["Reversed", amountText(amountMinor, currency)], ...effectFacts(effects, currency)],
    amountMinor: paymentMinor,
    currency,
  };
}

async function runReversal(acting: Acting, order: ReversalOrder, { dryRun, confirmation }: Run) {
  const named = await namedPayment(acting, order);
  const history = named && (await paymentHistory(acting.em(), named));
  if (!named || !history) return NOT_FOUND;
  const reason = REVERSAL_REASONS.find((one) => one === order.because);
  if (!reason) return refused("Choose why the payment is reversed.");
  const reversalReference = order.reversalReference.trim();
  if (!isText(reversalReference, REFERENCE_CHARACTERS)) return refused("Give the lender's id of the reversal.");
  const reversedAt = momentIn(order.reversedAt, named.lender.timeZone);
  if (!reversedAt) return refused("Give the time when the money was returned.");
  const amount = order.amount.trim();
  if (amount !== "" && !/^\d{1,15}(\.\d{1,4})?$/.test(amount)) return refused("Give the amount as in 1250.50.");
  const request = {
    ...named,
    reversalReference,
    reversedAt,
    amount: amount === "" ? null : new AmountLiteral(amount),
    reason,
    note: order.note === "" ? null : order.note,
    warnings: [],
    acceptedAt: new Date(),
  };
  const auditReason = withAsker(order.note === "" ? reason : `${reason}: ${order.note}`, confirmation);
  const options = { dryRun, auditReason, alsoWrite: confirmation?.record };
  const outcome = await reversePayment(acting.em(), request, acting.environment, options);
  const paymentMinor = history.booking.amountMinor;
  switch (outcome.kind) {
    case "refused":
      return refused(outcome.detail);
    case "duplicate":
      return outcome.differences.length === 0
        ? { kind: "reversed" as const, reversal: outcome.original, effects: undefined, paymentMinor }
        : refused(
            `The reversal ${reversalReference} is recorded already, with another ${outcome.differences.join(", ")}.`,
          );
    case "reversed":
      return { ...outcome, paymentMinor };
  }
}

async function rehearseMove(acting: Acting, order: MoveOrder): Promise<MoneyRehearsal | Refused> {
  const outcome = await runMove(acting, order, { dryRun: true });
  if (outcome.kind !== "moved") return outcome;
  const { reversal, effects, booking, confirmed } = outcome;
  if (!effects && !confirmed) return refused(`The payment is on ${booking.sourceLoanNumber} already.`);
  const { currency } = reversal;
  const facts = [
    ["Moved", amountText(reversal.amountMinor, currency)],
    ...(effects ? effectFacts(effects, currency) : []),
    [`Outstanding of ${booking.sourceLoanNumber}`, amountText(booking.outstandingAfterMinor, currency)],
    [`Status of ${booking.sourceLoanNumber}`, booking.statusAfter.replaceAll("_", " ")],
  ] as const;
  return { kind: "possible", order, facts, amountMinor: reversal.amountMinor, currency };
}

async function runMove(acting: Acting, order: MoveOrder, { dryRun, confirmation }: Run) {
  const named = await namedPayment(acting, order);
  if (!named) return NOT_FOUND;
  if (order.toLoan.trim() === "") return refused("Give the loan to which the payment belongs.");
  if (order.note === "") return refused("Give a reason.");
  const reversalReference = `move-${named.reference}`;
  if (!isText(reversalReference, REFERENCE_CHARACTERS))
    return refused("The reference is too long: move the payment with `payment move --reversal-reference …`.");
  const toLoan = await storedLoanNumber(acting.em(), named.lender.id, order.toLoan.trim());
  const now = new Date();
  const request = { ...named, toLoan, reversalReference, reversedAt: now, note: null, warnings: [], acceptedAt: now };
  const outcome = await movePayment(acting.em(), request, acting.environment, {
    dryRun,
    auditReason: withAsker(order.note, confirmation),
    alsoWrite: confirmation?.record,
  });
  return outcome.kind === "moved" ? outcome : refused(whyNoMove(outcome));
}

async function namedPayment({ em, lenders }: Acting, { lenderCode, loan, reference }: DeskPayment) {
  const lender: Lender | undefined = (await lenders()).find(({ code }) => code === lenderCode);
  if (!lender || loan.trim() === "" || reference.trim() === "") return undefined;
  return { lender, loan: await storedLoan(em(), lender, loan), reference: reference.trim() };
}

function storedLoan(em: EntityManager, lender: Lender, loan: string): Promise<string> {
  return storedLoanNumber(em, lender.id, loan.trim());
}

function effectFacts(effects: ReversalEffects, currency: CurrencyCode): (readonly [string, string])[] {
  const { caseBefore, caseAfter, earnings, reopened } = effects;
  const change = (before: bigint, after: bigint) =>
    [...new Set([before, after])].map((minor) => amountText(minor, currency)).join(" → ");
  const statuses = [...new Set([caseBefore.status, caseAfter.status])]
    .map((one) => one.replaceAll("_", " "))
    .join(" → ");
  const status = statuses.charAt(0).toUpperCase() + statuses.slice(1);
  return [
    ["Outstanding", change(caseBefore.outstandingMinor, caseAfter.outstandingMinor)],
    ["Status", reopened ? `${status}, the case is open again` : status],
    ["Excess", change(caseBefore.excessMinor, caseAfter.excessMinor)],
    ...earnings.flatMap(({ pendingChangeMinor, creditedChangeMinor }) => [
      ...(pendingChangeMinor === 0n ? [] : [["Pending earning", signed(pendingChangeMinor, currency)] as const]),
      ...(creditedChangeMinor === 0n ? [] : [["Credited earning", signed(creditedChangeMinor, currency)] as const]),
    ]),
  ];
}

function signed(minor: bigint, currency: CurrencyCode): string {
  return minor > 0n ? `+${amountText(minor, currency)}` : amountText(minor, currency);
}

function whyNoMove({ detail }: Extract<MoveOutcome | ReversalOutcome, { kind: "refused" }>): string {
  return detail;
}

function whyNoPayout(
  outcome: Exclude<RecordPayoutOutcome, { kind: "recorded" | "repeated" }>,
  { currency, reference }: PayoutToRecord,
): string {
  switch (outcome.kind) {
    case "field_partner_not_found":
      return "There is no such field partner.";
    case "in_future":
      return `The day of the transfer is in the future; today is ${outcome.today}.`;
    case "nothing_to_pay":
      return `Nothing is credited in ${currency}.`;
    case "amount_differs":
      return `The credited earnings are ${amountText(outcome.creditedMinor, currency)}: open the page of the payout again.`;
    case "paid_before_credited":
      return `The transfer is before the first of these earnings was credited; the earliest possible day is ${outcome.earliest}.`;
    case "reference_taken":
      return `The reference ${reference} belongs to another payout, which differs in ${outcome.differences.join(" and ")}.`;
  }
}

/** Returns a reason for the audit that names the operator who asked, if a second person confirms. */
export function withAsker(reason: string, confirmation: SecondConfirmation | undefined): string {
  return confirmation === undefined ? reason : `${reason} (asked for by ${confirmation.askedBy})`;
}

/** Reads a time with a zone, or a local time such as `2026-11-24T15:30`. */
function momentIn(text: string, timeZone: string): Date | undefined {
  const reading = readInstant(text);
  if ("instant" in reading) return reading.instant;
  const [, day, time] = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)$/.exec(text.trim()) ?? [];
  if (day === undefined || time === undefined || !("instant" in readInstant(`${day}T${time}Z`))) return undefined;
  return instantOf(day, time, timeZone);
}

function isDay(text: string): boolean {
  return DAY.test(text) && "instant" in readInstant(`${text}T00:00Z`);
}

function isText(text: string, characters: number): boolean {
  return text !== "" && text.length <= characters && !hasInvisible(text);
}

const DONE = { kind: "done" } as const;
const NOT_FOUND = { kind: "not_found" } as const;

function refused(detail: string) {
  return { kind: "refused" as const, detail };
}
