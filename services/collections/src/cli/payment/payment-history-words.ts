import { publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { formula } from "@collections/earnings";
import type { PaymentHistory } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { grouped, toDecimal } from "@collections/money";
import { namesOf, shownRecord } from "./payment-words.ts";
import { withCurrency } from "../../desk/amount-text.ts";
import { momentText } from "../terminal/local-time.ts";
import { table } from "../terminal/with-database.ts";

/** Returns a payment with everything that was recorded because of it, as `--json` shows it. */
export async function shownHistory(em: EntityManager, lender: Lender, history: PaymentHistory) {
  const { booking, remaining, reversals, earnings, links, events } = history;
  const { currency, fieldPartnerId } = booking;
  const names = await namesOf(em, [fieldPartnerId, ...earnings.map((line) => line.fieldPartnerId)]);
  const personOf = (id: string) => ({ id: publicId("fp", id), displayName: names.get(id)?.displayName ?? "" });
  const decimal = (minor: bigint) => toDecimal(minor, currency);
  return {
    lenderCode: lender.code,
    sourceLoanNumber: booking.sourceLoanNumber,
    caseId: publicId("case", booking.caseId),
    cycle: booking.cycle,
    reference: booking.reference,
    partOf: booking.partOf,
    amount: decimal(booking.amountMinor),
    currency,
    remaining: {
      amount: decimal(remaining.appliedMinor + remaining.excessMinor),
      applied: decimal(remaining.appliedMinor),
      excess: decimal(remaining.excessMinor),
    },
    mode: booking.mode,
    paidAt: booking.paidAt.toISOString(),
    recordedAt: booking.recordedAt.toISOString(),
    attribution: booking.attribution,
    fieldPartner: fieldPartnerId === null ? null : personOf(fieldPartnerId),
    linkId: booking.linkId,
    reversals: reversals.map(shownRecord),
    earnings: earnings.map((line) => ({
      fieldPartner: personOf(line.fieldPartnerId),
      amount: decimal(line.amountMinor),
      status: line.status,
      formula: formula(line),
      earnedAt: line.earnedAt.toISOString(),
      creditedAt: line.creditedAt?.toISOString() ?? null,
      paidOutAt: line.paidOutAt?.toISOString() ?? null,
      reversedAt: line.reversedAt?.toISOString() ?? null,
    })),
    links: links.map((link) => ({
      linkId: link.linkId,
      amount: decimal(link.amountMinor),
      status: link.status,
      paidAt: link.paidAt?.toISOString() ?? null,
      reversedAt: link.reversedAt?.toISOString() ?? null,
    })),
    events: events.map(({ eventId, kind, sequence, occurredAt }) => ({
      eventId: publicId("evt", eventId),
      kind,
      sequence: Number(sequence),
      occurredAt: occurredAt.toISOString(),
    })),
  };
}

export function historyText(shown: Awaited<ReturnType<typeof shownHistory>>, timeZone: string): string {
  const { currency, remaining, fieldPartner } = shown;
  const moment = (at: string) => momentText(new Date(at), timeZone);
  const digits = (amount: string) => grouped(amount, currency);
  return [
    `Payment ${shown.reference} of ${withCurrency(shown.amount, currency)} on ${shown.sourceLoanNumber}, cycle ${shown.cycle}`,
    `  Paid         ${moment(shown.paidAt)}, by ${shown.mode}`,
    `  Recorded     ${moment(shown.recordedAt)}`,
    ...(shown.partOf === null ? [] : [`  Part of      ${shown.partOf}`]),
    `  Remaining    ${withCurrency(remaining.amount, currency)}: ${digits(remaining.applied)} applied, ${digits(remaining.excess)} excess`,
    `  Attribution  ${shown.attribution}${fieldPartner ? `, ${fieldPartner.displayName} (${fieldPartner.id})` : ""}`,
    section(
      ["REVERSAL", "AMOUNT", "REASON", "REVERSED AT", "NOTE"],
      shown.reversals.map((one) => [
        one.reversalReference,
        digits(one.amount),
        one.reason,
        moment(one.reversedAt),
        one.note ?? "",
      ]),
      "No reversals.",
    ),
    section(
      ["EARNING OF", "AMOUNT", "STATUS", "FORMULA"],
      shown.earnings.map((one) => [one.fieldPartner.displayName, digits(one.amount), one.status, one.formula]),
      "No earnings.",
    ),
    section(
      ["LINK", "AMOUNT", "STATUS", "PAID AT", "REVERSED AT"],
      shown.links.map((one) => [
        one.linkId ?? "",
        digits(one.amount),
        one.status,
        one.paidAt === null ? "" : moment(one.paidAt),
        one.reversedAt === null ? "" : moment(one.reversedAt),
      ]),
      "No links.",
    ),
    section(
      ["EVENT", "KIND", "SEQUENCE", "OCCURRED AT"],
      shown.events.map((one) => [one.eventId, one.kind, String(one.sequence), moment(one.occurredAt)]),
      "No events.",
    ),
  ].join("\n");
}

function section(header: readonly string[], rows: readonly (readonly string[])[], none: string): string {
  return `\n${rows.length === 0 ? none : table([header, ...rows])}`;
}
