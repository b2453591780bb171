import type { Booking, BookingWarning } from "@collections/bookings";
import { doubtAboutIdentity } from "@collections/cases";
import { firstIdAt } from "@collections/database";
import { exponentOf, toDecimal } from "@collections/money";
import type { PaidLink } from "@collections/payment-links";

/** A booking without its warnings. */
export type Unwarned = Omit<Booking, "warnings">;

/** The facts that the warnings about a booking need, besides the booking. */
export interface WarningFacts {
  /** The links with the linkId of the payment; empty if the service knows none. */
  readonly links: readonly PaidLink[];
  /** Whether another payment has paid one of the links, and was not reversed. */
  readonly isLinkPaid: boolean;
  /** The time of the balance that already includes the payment. Null if the payment lowered the outstanding amount. */
  readonly includedAsOf: Date | null;
  /** Whether the lender states that the amount is in major units. */
  readonly amountIsMajorUnits: boolean;
}

/** Returns the warnings about the effect of a payment (contract: Payment confirmation response). */
export function bookingWarnings(booking: Unwarned, facts: WarningFacts): BookingWarning[] {
  return [
    ...referenceWarnings(booking),
    ...linkWarnings(booking, facts),
    ...balanceWarnings(facts),
    ...amountWarnings(booking, facts),
  ];
}

function referenceWarnings({ reference }: Unwarned): BookingWarning[] {
  const detail = doubtAboutIdentity(reference);
  return detail === undefined ? [] : [{ code: "IDENTITY_IN_DOUBT", pointer: "/reference", detail }];
}

function linkWarnings(booking: Unwarned, { links, isLinkPaid }: WarningFacts): BookingWarning[] {
  const { linkId, amountMinor, currency, partOf } = booking;
  if (linkId === null) return [];
  if (links.length === 0) {
    const detail = "The service knows no link with this id; the payment is booked without its visit.";
    return [{ code: "LINK_NOT_RECOGNISED", pointer: "/linkId", detail }];
  }
  // A part completes another payment, by the link that this payment has paid.
  if (partOf !== null) return [];
  const warnings: BookingWarning[] = [];
  const [link, ...others] = links.filter((one) => one.currency === currency);
  if (link && [link, ...others].every((one) => one.amountMinor !== amountMinor)) {
    const detail = `The link was made for ${inWords(booking, link.amountMinor)}, and the payment is ${inWords(booking, amountMinor)}.`;
    warnings.push({ code: "AMOUNT_DIFFERS_FROM_LINK", pointer: "/amount", detail });
  }
  if (isLinkPaid) {
    const detail = "The link is paid already; this payment is booked too. If both are one payment, reverse this one.";
    warnings.push({ code: "LINK_ALREADY_PAID", pointer: "/linkId", detail });
  }
  return warnings;
}

function balanceWarnings({ includedAsOf }: WarningFacts): BookingWarning[] {
  if (includedAsOf === null) return [];
  const asOf = includedAsOf.toISOString();
  const detail = `The balance as of ${asOf} includes this payment already; the outstanding amount stays as it is.`;
  return [{ code: "PAYMENT_IN_BALANCE", pointer: "/paidAt", detail }];
}

function amountWarnings(booking: Unwarned, { amountIsMajorUnits }: WarningFacts): BookingWarning[] {
  const { amountMinor, appliedMinor: owedMinor, excessMinor } = booking;
  if (excessMinor === 0n || isExplainedByBalance(booking)) return [];
  const above =
    owedMinor === 0n
      ? `Nothing was owed: ${inWords(booking, excessMinor)} is excess.`
      : `${inWords(booking, owedMinor)} of this payment was owed: ${inWords(booking, excessMinor)} is excess.`;
  const warnings = [{ code: "AMOUNT_ABOVE_OUTSTANDING", pointer: "/amount", detail: above }];
  const meantMinor = inMajorUnits(booking);
  if (amountIsMajorUnits || meantMinor === undefined || meantMinor > owedMinor) return warnings;
  const detail =
    `If ${inWords(booking, meantMinor)} was paid, the amount was sent in minor units: reverse ` +
    `${inWords(booking, amountMinor - meantMinor)} of it with the reason entered_by_mistake. If the amount is right, ` +
    `"amountIsMajorUnits": true avoids this warning.`;
  return [...warnings, { code: "AMOUNT_LOOKS_LIKE_MINOR_UNITS", pointer: "/amount", detail }];
}

/**
 * Tells whether the excess is of a debt that the service never saw: the payment is older than the case, and the balance
 * above 0 that the lender sent includes it.
 */
function isExplainedByBalance({ inBalanceMinor, outstandingAfterMinor, caseId, paidAt }: Unwarned): boolean {
  return inBalanceMinor !== null && outstandingAfterMinor > 0n && caseId >= firstIdAt(paidAt);
}

/**
 * Returns the amount that was paid if the amount of the booking was sent in minor units. Undefined if that cannot be: the
 * currency has no minor unit, or the amount is no whole number.
 */
function inMajorUnits({ amountMinor, currency }: Unwarned): bigint | undefined {
  const factor = 10n ** BigInt(exponentOf(currency));
  return factor > 1n && amountMinor % factor === 0n ? amountMinor / factor : undefined;
}

function inWords({ currency }: Unwarned, minor: bigint): string {
  return `${toDecimal(minor, currency)} ${currency}`;
}
