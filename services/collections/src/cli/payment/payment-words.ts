import type { Booking, Reversal } from "@collections/bookings";
import { publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import type { Earning } from "@collections/earnings";
import { fieldPartnersByIds } from "@collections/field-partners";
import type { ConfirmationEffects, MoveOutcome, ReversalEffects, ReversalOutcome } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { grouped, toDecimal } from "@collections/money";
import { linkById } from "@collections/payment-links";
import { withCurrency } from "../../desk/amount-text.ts";
import { momentText } from "../terminal/local-time.ts";

type Done = Exclude<ReversalOutcome, { kind: "refused" }>;
type Moved = Extract<MoveOutcome, { kind: "moved" }>;
type Names = ReadonlyMap<string, { readonly displayName: string }>;

/** Returns the recorded reversal, and what it changes, as `--json` shows it. `effects` is null for a repeat. */
export async function shownReversal(em: EntityManager, lender: Lender, outcome: Done, dryRun: boolean) {
  const reversal = outcome.kind === "duplicate" ? outcome.original : outcome.reversal;
  const effects = outcome.kind === "duplicate" ? undefined : outcome.effects;
  return {
    dryRun,
    outcome: effects ? ("reversed" as const) : ("repeated" as const),
    lenderCode: lender.code,
    ...(await shownSteps(em, lender, reversal, effects)),
  };
}

/** Returns both steps of a move as `--json` shows them. */
export async function shownMove(em: EntityManager, lender: Lender, moved: Moved, dryRun: boolean) {
  const { reversal, effects, booking, confirmed } = moved;
  return {
    dryRun,
    outcome: effects || confirmed ? ("moved" as const) : ("repeated" as const),
    lenderCode: lender.code,
    ...(await shownSteps(em, lender, reversal, effects)),
    to: await shownConfirmation(em, booking, confirmed),
  };
}

async function shownSteps(em: EntityManager, lender: Lender, reversal: Reversal, effects: ReversalEffects | undefined) {
  return {
    reversal: shownRecord(reversal),
    effects: effects ? await shownEffects(em, lender, reversal, effects) : null,
  };
}

/** Returns a recorded reversal as `--json` shows it. */
export function shownRecord(reversal: Reversal) {
  const { currency } = reversal;
  return {
    caseId: publicId("case", reversal.caseId),
    sourceLoanNumber: reversal.sourceLoanNumber,
    cycle: reversal.cycle,
    reference: reversal.reference,
    reversalReference: reversal.reversalReference,
    amount: toDecimal(reversal.amountMinor, currency),
    currency,
    reason: reversal.reason,
    note: reversal.note,
    reversedAt: reversal.reversedAt.toISOString(),
    recordedAt: reversal.recordedAt.toISOString(),
    inBalance: reversal.inBalance,
    warnings: reversal.warnings.map(({ code, detail }) => ({ code, detail })),
  };
}

async function shownEffects(em: EntityManager, { id: lenderId }: Lender, reversal: Reversal, effects: ReversalEffects) {
  const { caseBefore, caseAfter, linkIds, events, earnings, reopened } = effects;
  const { currency } = reversal;
  const lines = earnings.flatMap(({ added, reversed }) => [...(added ? [added] : []), ...reversed]);
  const names = await namesOf(em, [
    ...lines.map(({ fieldPartnerId }) => fieldPartnerId),
    caseAfter.assignedFieldPartnerId,
  ]);
  const links = await Promise.all(linkIds.map((id) => linkById(em, { lenderId, id })));
  return {
    outstanding: change(caseBefore.outstandingMinor, caseAfter.outstandingMinor, currency),
    status: { before: caseBefore.status, after: caseAfter.status },
    reopened,
    fieldPartner: personOf(caseAfter.assignedFieldPartnerId, names),
    totalCollected: change(caseBefore.totalCollectedMinor, caseAfter.totalCollectedMinor, currency),
    totalReversed: change(caseBefore.totalReversedMinor, caseAfter.totalReversedMinor, currency),
    excess: change(caseBefore.excessMinor, caseAfter.excessMinor, currency),
    earnings: earnings.flatMap(({ added, reversed, pendingChangeMinor, creditedChangeMinor }) => {
      const [line] = [...(added ? [added] : []), ...reversed];
      if (!line) return [];
      return {
        reference: line.reference,
        fieldPartner: personOf(line.fieldPartnerId, names),
        pendingChange: toDecimal(pendingChangeMinor, currency),
        creditedChange: toDecimal(creditedChangeMinor, currency),
        reversedLines: reversed.map(({ amountMinor }) => toDecimal(amountMinor, currency)),
        newLine: added ? { status: added.status, amount: toDecimal(added.amountMinor, currency) } : null,
      };
    }),
    links: linkIds.map((id, index) => ({ id, linkId: links[index]?.linkId ?? null })),
    transfers: effects.postings.length,
    events: events.map(({ kind, sequence }) => ({ kind, sequence: Number(sequence) })),
  };
}

async function shownConfirmation(em: EntityManager, booking: Booking, confirmed: ConfirmationEffects | undefined) {
  const { currency, fieldPartnerId } = booking;
  const lines = confirmed ? [...confirmed.earnings, ...confirmed.credited] : [];
  const names = await namesOf(em, [fieldPartnerId, ...lines.map((line) => line.fieldPartnerId)]);
  const shownLine = (line: Earning) => ({
    fieldPartner: personOf(line.fieldPartnerId, names),
    status: line.status,
    amount: toDecimal(line.amountMinor, currency),
  });
  return {
    caseId: publicId("case", booking.caseId),
    sourceLoanNumber: booking.sourceLoanNumber,
    reference: booking.reference,
    partOf: booking.partOf,
    amount: toDecimal(booking.amountMinor, currency),
    currency,
    wasBooked: confirmed === undefined,
    effects: confirmed
      ? {
          outstanding: change(confirmed.caseBefore.outstandingMinor, booking.outstandingAfterMinor, currency),
          status: { before: confirmed.caseBefore.status, after: booking.statusAfter },
          excess: toDecimal(booking.excessMinor, currency),
          attribution: booking.attribution,
          earnings: confirmed.earnings.map(shownLine),
          credited: confirmed.credited.map(shownLine),
          events: confirmed.events.map(({ kind, sequence }) => ({ kind, sequence: Number(sequence) })),
        }
      : null,
    warnings: booking.warnings.map(({ code, detail }) => ({ code, detail })),
  };
}

export function reversalText(shown: Awaited<ReturnType<typeof shownReversal>>, timeZone: string): string {
  return [...reversalLines(shown, timeZone), endOf(shown)].join("\n");
}

export function moveText(shown: Awaited<ReturnType<typeof shownMove>>, timeZone: string): string {
  const { to } = shown;
  const { effects } = to;
  const part = to.partOf === null ? "" : `, a part of ${to.partOf}`;
  const head = `Payment ${to.reference} of ${withCurrency(to.amount, to.currency)} on ${to.sourceLoanNumber}${part}`;
  const confirmed = effects
    ? facts([
        ["Outstanding", arrow(effects.outstanding, to.currency)],
        ["Status", words(`${effects.status.before} → ${effects.status.after}`)],
        ["Excess", withCurrency(effects.excess, to.currency)],
        ...effects.earnings.map(
          (line) =>
            ["Earning", `${grouped(line.amount, to.currency)} ${line.status}, ${named(line.fieldPartner)}`] as const,
        ),
        ...(effects.earnings.length === 0 ? [["Earning", "none"] as const] : []),
        ...effects.credited.map(
          (line) => ["Credited", `${grouped(line.amount, to.currency)}, ${named(line.fieldPartner)}`] as const,
        ),
        ["Events", eventsText(effects.events)],
      ])
    : ["  It was booked there before; nothing changes."];
  return [
    ...reversalLines(shown, timeZone),
    head,
    ...confirmed,
    ...to.warnings.map(({ code, detail }) => `  ${code}: ${detail}`),
    endOf(shown),
  ].join("\n");
}

type ShownSteps = Awaited<ReturnType<typeof shownSteps>>;

function reversalLines({ reversal, effects }: ShownSteps, timeZone: string): string[] {
  const { currency } = reversal;
  const head =
    `Reversal ${reversal.reversalReference} of ${withCurrency(reversal.amount, currency)} of payment ${reversal.reference} ` +
    `on ${reversal.sourceLoanNumber}: ${words(reversal.reason)}, ${momentText(new Date(reversal.reversedAt), timeZone)}`;
  const lines = effects
    ? facts([
        ["Outstanding", arrow(effects.outstanding, currency)],
        ["Status", statusText(effects)],
        ["Collected", arrow(effects.totalCollected, currency)],
        ["Reversed", arrow(effects.totalReversed, currency)],
        ["Excess", arrow(effects.excess, currency)],
        ...effects.earnings.map((one) => ["Earning", earningText(one, currency)] as const),
        ...(effects.earnings.length === 0 ? [["Earning", "unchanged"] as const] : []),
        ...effects.links.map(({ linkId }) => ["Link", `${linkId ?? ""} is marked as reversed`] as const),
        ["Events", eventsText(effects.events)],
      ])
    : ["  It was recorded before; nothing changes."];
  return [head, ...lines, ...reversal.warnings.map(({ code, detail }) => `  ${code}: ${detail}`)];
}

type Effects = NonNullable<ShownSteps["effects"]>;

function statusText({ status, reopened, fieldPartner }: Effects): string {
  const text = words(status.before === status.after ? status.after : `${status.before} → ${status.after}`);
  if (!reopened) return text;
  return `${text}; ${fieldPartner ? `${named(fieldPartner)} keeps the case` : "no field partner has the case"}`;
}

/** Describes how an earning changes, and what the next payout deducts because of that. */
function earningText(one: Effects["earnings"][number], currency: string): string {
  const changes = [
    ...(isZero(one.pendingChange) ? [] : [`pending ${signed(grouped(one.pendingChange, currency))}`]),
    ...(isZero(one.creditedChange) ? [] : [`credited ${signed(grouped(one.creditedChange, currency))}`]),
  ];
  const isDeducted = one.newLine?.status === "credited" && one.newLine.amount.startsWith("-");
  const deducted = isDeducted ? `; the next payout deducts ${grouped(one.newLine!.amount.slice(1), currency)}` : "";
  return `${named(one.fieldPartner)}, payment ${one.reference}: ${changes.join(", ")}${deducted}`;
}

function endOf({ dryRun, outcome }: { readonly dryRun: boolean; readonly outcome: string }): string {
  if (outcome === "repeated") return "This was recorded before; nothing was changed.";
  return dryRun ? "This is a dry run: nothing was changed." : "Recorded.";
}

interface Person {
  readonly id: string;
  readonly displayName: string;
}

function named({ id, displayName }: Person): string {
  return `${displayName} (${id})`;
}

function personOf<Id extends string | null>(id: Id, names: Names): Id extends null ? null : Person;
function personOf(id: string | null, names: Names): Person | null {
  return id === null ? null : { id: publicId("fp", id), displayName: names.get(id)?.displayName ?? "" };
}

/** Returns the field partners with these ids, of which some may be null. */
export async function namesOf(em: EntityManager, ids: readonly (string | null)[]): Promise<Names> {
  return fieldPartnersByIds(em, [...new Set(ids.filter((id) => id !== null))]);
}

function change(before: bigint, after: bigint, currency: Reversal["currency"]) {
  return { before: toDecimal(before, currency), after: toDecimal(after, currency) };
}

function arrow({ before, after }: ReturnType<typeof change>, currency: string): string {
  const now = withCurrency(after, currency);
  return before === after ? `${now}, unchanged` : `${grouped(before, currency)} → ${now}`;
}

function facts(pairs: readonly (readonly [name: string, text: string])[]): string[] {
  return pairs.map(([name, text]) => `  ${name.padEnd(12)} ${text}`);
}

function eventsText(events: readonly { readonly kind: string; readonly sequence: number }[]): string {
  return events.map(({ kind, sequence }) => `${kind} (sequence ${sequence})`).join(", ");
}

function words(text: string): string {
  return text.replaceAll("_", " ");
}

function signed(amount: string): string {
  return amount.startsWith("-") ? amount : `+${amount}`;
}

function isZero(amount: string): boolean {
  return /^-?0*(\.0*)?$/.test(amount);
}
