import {
  bucketOf,
  type Case,
  cameLate,
  caseByLoan,
  maskedPhone,
  storedLoanNumber,
  transition,
} from "@collections/cases";
import { publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { fieldPartnerById } from "@collections/field-partners";
import { type CaseHistory, caseHistory } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { grouped, toDecimal } from "@collections/money";
import { actorText, shownActor } from "./actor-text.ts";
import { withCurrency } from "./amount-text.ts";
import { codeWords } from "./code-words.ts";
import { eventWords } from "./words/act-words.ts";
import { deliveryErrorOf } from "./words/delivery-error.ts";

/** An entry of the timeline of a case. */
export interface TimelineEntry {
  /** ISO 8601, in UTC. */
  readonly at: string;
  readonly what: string;
  readonly details: string;
  /** The public id of the event that was not delivered. */
  readonly eventId?: string | undefined;
  /** The code of the act or event that `details` names in words. */
  readonly code?: string | undefined;
}

/** Whether texts name the public ids of people and events and the codes of acts, which the next command needs. */
interface IdChoice {
  readonly hasIds: boolean;
}

/** The lender's code and the number of a loan. */
interface LoanName {
  readonly code: string;
  readonly loan: string;
}

/**
 * Returns the current case of a loan with its history, without contact data. Undefined if none of `lenders` has the code or
 * the loan.
 *
 * @param withActs whether operators' actions are read
 */
export async function caseOfLoan(
  em: EntityManager,
  lenders: readonly Lender[],
  { code, loan, withActs }: LoanName & { readonly withActs: boolean },
) {
  const lender = lenderOfLoan(lenders, { code, loan });
  const history = lender && (await caseHistory(em, lender, loan, { withActs }));
  return history && { ...shownHistory(lender, history, { hasContact: false }), allows: allowedOn(history.theCase) };
}

/**
 * Returns what a form shows of the current case of a loan. Undefined if none of `lenders` has the code or the loan. Reads no
 * history.
 */
export async function loanOfForm(em: EntityManager, lenders: readonly Lender[], { code, loan }: LoanName) {
  const lender = lenderOfLoan(lenders, { code, loan });
  const theCase = lender && (await caseByLoan(em, lender.id, await storedLoanNumber(em, lender.id, loan)));
  if (!theCase) return undefined;
  const { assignedFieldPartnerId: holderId, sourceLoanNumber, borrowerName, erasedAt } = theCase;
  const holder = holderId === null ? undefined : await fieldPartnerById(em, holderId);
  return {
    lenderCode: code,
    sourceLoanNumber,
    borrowerName,
    erasedAt: erasedAt && erasedAt.toISOString(),
    holderName: holderId === null ? null : (holder?.displayName ?? publicId("fp", holderId)),
  };
}

function lenderOfLoan(lenders: readonly Lender[], { code, loan }: LoanName): Lender | undefined {
  // PostgreSQL rejects a text with a NUL. No loan number has a control character.
  return /[\p{Cc}\p{Cs}]/u.test(loan) ? undefined : lenders.find((one) => one.code === code);
}

/** Returns whether the state of a case allows a new assignment, and the other orders that it allows. */
function allowedOn(theCase: Case) {
  const allows = (trigger: Parameters<typeof transition>[1]) => transition(theCase, trigger, new Date()).allowed;
  const orders = [
    { kind: "unassign" },
    { kind: "hold", reason: null },
    { kind: "release" },
    { kind: "close", reason: null },
  ] as const;
  return {
    assign: allows({ kind: "assign", fieldPartnerId: "" }),
    orders: orders.filter(allows).map(({ kind }) => kind),
  };
}

/**
 * Returns a case with everything that is known about it, as `case show --json` shows it.
 *
 * @param hasContact whether phone numbers are whole, and e-mail and addresses are included; the caller records the access
 */
export function shownHistory(lender: Lender, history: CaseHistory, { hasContact }: { readonly hasContact: boolean }) {
  const { theCase, fieldPartners } = history;
  const { currency } = theCase;
  const decimal = (minor: bigint) => toDecimal(minor, currency);
  const iso = (at: Date | null) => at?.toISOString() ?? null;
  const personOf = (id: string) => ({
    id: publicId("fp", id),
    displayName: fieldPartners.get(id)?.displayName ?? null,
  });
  const reversals = Map.groupBy(history.reversals, ({ bookingId }) => bookingId);
  const messages = Map.groupBy(history.messages, ({ paymentLinkId }) => paymentLinkId);
  return {
    lenderCode: lender.code,
    timeZone: lender.timeZone,
    sourceLoanNumber: theCase.sourceLoanNumber,
    caseId: publicId("case", theCase.id),
    cycle: theCase.cycle,
    status: theCase.status,
    statusReason: theCase.statusReason,
    closeReason: theCase.closeReason,
    fieldWork: theCase.fieldWork,
    currency,
    placedAmount: decimal(theCase.placedMinor),
    outstandingAmount: decimal(theCase.outstandingMinor),
    totalCollected: decimal(theCase.totalCollectedMinor),
    totalReversed: decimal(theCase.totalReversedMinor),
    excess: decimal(theCase.excessMinor),
    dpd: theCase.dpd,
    bucket: bucketOf(theCase),
    branchCode: theCase.branchCode,
    borrowerName: theCase.borrowerName,
    language: theCase.language,
    fieldPartner: theCase.assignedFieldPartnerId === null ? null : personOf(theCase.assignedFieldPartnerId),
    assignedSince: iso(theCase.assignedSince),
    sequence: Number(theCase.sequence),
    createdAt: theCase.createdAt.toISOString(),
    updatedAt: theCase.updatedAt.toISOString(),
    closedAt: iso(theCase.closedAt),
    erasedAt: iso(theCase.erasedAt),
    eraseAfter: theCase.erasedAt === null ? iso(erasureDue(theCase.closedAt, lender)) : null,
    cycles: history.cycles.map(({ id, cycle, status, closedAt }) => ({
      caseId: publicId("case", id),
      cycle,
      status,
      closedAt: iso(closedAt),
    })),
    holders: history.holders.map(({ kind, fieldPartnerId, at }) => ({
      kind,
      fieldPartner: personOf(fieldPartnerId),
      at: at.toISOString(),
    })),
    visits: history.visits.map((visit) => ({
      visitId: publicId("vis", visit.id),
      fieldPartner: personOf(visit.fieldPartnerId),
      startedAt: visit.startedAt.toISOString(),
      startReceivedAt: visit.startReceivedAt.toISOString(),
      completedAt: iso(visit.completedAt),
      completionReceivedAt: iso(visit.completionReceivedAt),
      late: cameLate(visit.startedAt, visit.startReceivedAt),
      disposition: visit.disposition,
      note: visit.note,
      distanceM: visit.distanceM === null ? null : Math.round(visit.distanceM),
    })),
    promises: history.promises.map(({ visitId, amountMinor, dueOn, state, createdAt }) => ({
      visitId: publicId("vis", visitId),
      amount: decimal(amountMinor),
      dueOn,
      state,
      createdAt: createdAt.toISOString(),
    })),
    links: history.links.map((link) => ({
      linkId: link.linkId,
      fieldPartner: personOf(link.fieldPartnerId),
      amount: decimal(link.amountMinor),
      status: link.status,
      unavailableReason: link.unavailableReason,
      createdAt: link.createdAt.toISOString(),
      messages: (messages.get(link.id) ?? []).map(({ channel, status, failureCode, createdAt, updatedAt }) => ({
        channel,
        status,
        failureCode,
        createdAt: createdAt.toISOString(),
        updatedAt: updatedAt.toISOString(),
      })),
    })),
    payments: history.payments.map((payment) => ({
      reference: payment.reference,
      cycle: payment.cycle,
      amount: decimal(payment.amountMinor),
      applied: decimal(payment.appliedMinor),
      excess: decimal(payment.excessMinor),
      mode: payment.mode,
      linkId: payment.linkId,
      fieldPartner: payment.fieldPartnerId === null ? null : personOf(payment.fieldPartnerId),
      paidAt: payment.paidAt.toISOString(),
      recordedAt: payment.recordedAt.toISOString(),
      reversals: (reversals.get(payment.id) ?? []).map(({ reversalReference, amountMinor, reason, reversedAt }) => ({
        reversalReference,
        amount: decimal(amountMinor),
        reason,
        reversedAt: reversedAt.toISOString(),
      })),
    })),
    contactReveals: history.contactReveals.map(({ fieldPartnerId, at }) => ({
      fieldPartner: personOf(fieldPartnerId),
      at: at.toISOString(),
    })),
    undeliveredEvents: history.undeliveredEvents.map((event) => ({
      eventId: publicId("evt", event.eventId),
      kind: event.kind,
      sequence: Number(event.sequence),
      state: event.state,
      attempts: event.attempts,
      lastError: event.lastError,
      createdAt: event.createdAt.toISOString(),
    })),
    audit: history.acts.map(({ act, actor, reason, data, at }) => ({
      act,
      by: shownActor(actor),
      reason,
      data,
      at: at.toISOString(),
    })),
    contact: shownContact(history, hasContact),
  };
}

const DAY_MS = 86_400_000;

/** Returns when the personal data of an ended case become due for erasure, or null if the case has not ended. */
function erasureDue(closedAt: Date | null, { keepPersonalDataDays }: Lender): Date | null {
  return closedAt && new Date(closedAt.getTime() + keepPersonalDataDays * DAY_MS);
}

/** A case with everything that is known about it. */
export type ShownHistory = ReturnType<typeof shownHistory>;

/** Returns what is known about a case, as names and values for people. */
export function factsOf(
  shown: ShownHistory,
  moment: (at: string) => string,
  ids: IdChoice = { hasIds: true },
): [name: string, value: string][] {
  const { currency, fieldPartner, contact } = shown;
  return [
    ["status", [codeWords(shown.status), shown.statusReason ?? shown.closeReason].filter(Boolean).join(": ")],
    ["field work", codeWords(shown.fieldWork)],
    ["outstanding", `${withCurrency(shown.outstandingAmount, currency)} of ${grouped(shown.placedAmount, currency)}`],
    ["collected", collectedText(shown)],
    ["days past due", shown.dpd === null ? "unknown" : `${shown.dpd}, bucket ${shown.bucket}`],
    ["borrower", borrowerText(shown, moment)],
    ...(contact.borrowerEmail ? [["e-mail", contact.borrowerEmail]] : []),
    ...(contact.addresses ?? []).map((address) => ["address", Object.values(address).filter(Boolean).join(", ")]),
    ["field partner", fieldPartner ? `${nameOf(fieldPartner, ids)}, since ${moment(shown.assignedSince!)}` : "nobody"],
    ["created", moment(shown.createdAt)],
    ...(shown.closedAt === null ? [] : [["closed", moment(shown.closedAt)]]),
    ...(shown.eraseAfter === null ? [] : [["personal data", `erased after ${moment(shown.eraseAfter)}`]]),
  ] as [name: string, value: string][];
}

function collectedText({ totalCollected, totalReversed, excess, currency }: ShownHistory): string {
  const [reversed, inExcess] = [totalReversed, excess].map((amount) => grouped(amount, currency));
  return `${withCurrency(totalCollected, currency)}, reversed ${reversed}, excess ${inExcess}`;
}

function shownContact({ theCase }: CaseHistory, isFull: boolean) {
  const phoneOf = isFull ? (phone: string) => phone : maskedPhone;
  return {
    borrowerPhone: phoneOf(theCase.borrowerPhone),
    alternatePhones: theCase.alternatePhones.map(phoneOf),
    ...(isFull && { borrowerEmail: theCase.borrowerEmail, addresses: theCase.addresses }),
  };
}

function borrowerText({ borrowerName, contact, erasedAt }: ShownHistory, moment: (at: string) => string): string {
  if (erasedAt !== null) return `personal data erased on ${moment(erasedAt)}`;
  return `${borrowerName}, ${[contact.borrowerPhone, ...contact.alternatePhones].join(", ")}`;
}

interface Person {
  readonly id: string;
  readonly displayName: string | null;
}

function nameOf({ id, displayName }: Person, { hasIds }: IdChoice): string {
  if (displayName === null) return id;
  return hasIds ? `${displayName} (${id})` : displayName;
}

/** Returns everything that happened on the case, newest first. */
export function timelineOf(shown: ShownHistory, ids: IdChoice = { hasIds: true }): TimelineEntry[] {
  const { currency, timeZone } = shown;
  const entries = [
    ...shown.holders.map(({ kind, fieldPartner, at }) => [at, kind, nameOf(fieldPartner, ids)]),
    ...shown.visits.map((visit) => [visit.startedAt, "visit", visitText(visit, timeZone, ids)]),
    ...shown.promises.map(({ createdAt, amount, dueOn, state }) => [
      createdAt,
      "promise",
      `${withCurrency(amount, currency)} by ${dueOn}: ${codeWords(state)}`,
    ]),
    ...shown.links.flatMap((link) => [
      [
        link.createdAt,
        "link",
        `${link.linkId ?? "No id"}, ${withCurrency(link.amount, currency)}: ${[codeWords(link.status), codeOrWords(link.unavailableReason, ids)].filter(Boolean).join(", ")}`,
      ],
      ...link.messages.map(({ createdAt, channel, status, failureCode }) => [
        createdAt,
        "message",
        `${codeWords(channel)}: ${[codeWords(status), codeOrWords(failureCode, ids)].filter(Boolean).join(", ")}`,
      ]),
    ]),
    ...shown.payments.flatMap((payment) => [
      [
        payment.paidAt,
        "payment",
        `${payment.reference}, ${withCurrency(payment.amount, currency)} by ${codeWords(payment.mode)}`,
      ],
      ...payment.reversals.map(({ reversedAt, reversalReference, amount, reason }) => [
        reversedAt,
        "reversal",
        `${reversalReference}, ${withCurrency(amount, currency)} of ${payment.reference}: ${codeWords(reason)}`,
      ]),
    ]),
    ...shown.contactReveals.map(({ at, fieldPartner }) => [at, "contact seen", `by ${nameOf(fieldPartner, ids)}`]),
    ...shown.undeliveredEvents.map(({ createdAt, eventId, kind, state, lastError }) => [
      createdAt,
      "not delivered",
      `${ids.hasIds ? `${eventId} ${kind}` : eventWords(kind)}: ${[codeWords(state), errorText(lastError, ids)].filter(Boolean).join(ids.hasIds ? ", " : ". ")}`,
      [kind, lastError && deliveryErrorOf(lastError).code].filter(Boolean).join(", "),
      eventId,
    ]),
    ...shown.audit.map(({ at, act, by, reason }) => [
      at,
      "operator",
      [`${ids.hasIds ? act : eventWords(act)}${by === null ? "" : ` by ${actorText(by)}`}`, reason]
        .filter(Boolean)
        .join(": "),
      act,
    ]),
  ] as [at: string, what: string, details: string, code?: string, eventId?: string][];
  return entries
    .toSorted(([one], [other]) => (one < other ? 1 : one > other ? -1 : 0))
    .map(([at, what, details, code, eventId]) => ({ at, what, details, code, eventId }));
}

function errorText(error: string | null, { hasIds }: IdChoice): string | null {
  return error === null || hasIds ? error : deliveryErrorOf(error).sentence;
}

/** Returns a code as it is for a command, and as words for a page. */
function codeOrWords(code: string | null, { hasIds }: IdChoice): string | null {
  return code === null || hasIds ? code : codeWords(code);
}

function visitText(visit: ShownHistory["visits"][number], timeZone: string, ids: IdChoice): string {
  const { completedAt, disposition, note, distanceM, startReceivedAt, late } = visit;
  const ended =
    completedAt === null
      ? "not ended"
      : `${codeWords(disposition ?? "")}, ended ${timeIn(timeZone, new Date(completedAt))}`;
  return [
    `${nameOf(visit.fieldPartner, ids)}: ${ended}`,
    ...(late ? [`received ${timeIn(timeZone, new Date(startReceivedAt))}`] : []),
    ...(distanceM === null ? [] : [`${distanceM} m from the address`]),
    ...(note === null ? [] : [note]),
  ].join("; ");
}
