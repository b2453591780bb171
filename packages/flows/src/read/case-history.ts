import { type Booking, paymentsWithReversals, type Reversal } from "@collections/bookings";
import {
  type Case,
  loanHistory,
  type LoanHistory,
  metresBetween,
  type PromiseToPay,
  type Visit,
} from "@collections/cases";
import { parsePublicId, readSnapshot } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { contactRevealsOf, type FieldPartner, type RecordedReveal } from "@collections/field-partners";
import { actsOnLoan, type AuditEntry, type Lender } from "@collections/lenders";
import { type LinkDelivery, linksOfCase, type PaymentLink } from "@collections/payment-links";
import { type DeliverySummary, type StreamEvent, streamHistory } from "@collections/webhooks";

/** A visit of a case, and how far from the borrower's first address it started. */
export interface VisitOfCase extends Visit {
  /** In metres; null if the place of the visit or of the address is unknown. */
  readonly distanceM: number | null;
}

/** A change of the field partner that has the case. */
export interface HolderChange {
  readonly kind: "assigned" | "unassigned";
  readonly fieldPartnerId: string;
  readonly at: Date;
}

/**
 * Everything that is known about the current case of a loan. Each list is newest first, and has 50 entries at most, except
 * the messages of links and the reversals of payments.
 */
export interface CaseHistory {
  readonly theCase: Case;
  /** All cases of the loan, the first cycle first. */
  readonly cycles: readonly Case[];
  /** The assignments whose events are still stored. */
  readonly holders: readonly HolderChange[];
  readonly visits: readonly VisitOfCase[];
  readonly promises: readonly PromiseToPay[];
  readonly links: readonly PaymentLink[];
  /** The messages of `links`, the oldest first. */
  readonly messages: readonly LinkDelivery[];
  /** Payments of all cycles, because a reversal may move money between them. */
  readonly payments: readonly Booking[];
  /** The reversals of `payments`. */
  readonly reversals: readonly Reversal[];
  readonly contactReveals: readonly RecordedReveal[];
  readonly undeliveredEvents: readonly DeliverySummary[];
  /** Empty if they were not read. */
  readonly acts: readonly AuditEntry[];
  /** The field partners that the lists name, by id. */
  readonly fieldPartners: ReadonlyMap<string, FieldPartner>;
}

const MAX_ENTRIES = 50;

/**
 * Returns the current case of a loan with its visits, promises, links, messages, payments, reversals, accesses to
 * contact data, undelivered events and operators' actions, read from one database snapshot. Makes one query for each
 * package that has a part of them. The loan number may have another Unicode normal form than the stored one. Returns
 * undefined if the lender has no such loan. Without `withActs` it reads no operators' actions. The result contains personal
 * data of the borrower.
 *
 * @example
 * const history = await caseHistory(em, lender, "LN-2026-00417");
 * const lastVisitAt = history?.visits[0]?.startedAt;
 */
export async function caseHistory(
  em: EntityManager,
  lender: Lender,
  loan: string,
  { withActs = true }: { readonly withActs?: boolean } = {},
): Promise<CaseHistory | undefined> {
  return readSnapshot(em, async (tx) => {
    const ofLoan = await loanHistory(tx, { lenderId: lender.id, loan }, MAX_ENTRIES);
    return ofLoan && historyOf(tx, ofLoan, withActs);
  });
}

async function historyOf(
  tx: Tx,
  { currentCase: theCase, cases, visits, promises }: LoanHistory,
  withActs: boolean,
): Promise<CaseHistory> {
  const { lenderId, id: caseId, sourceLoanNumber: loan } = theCase;
  const { links, messages } = await linksOfCase(tx, { lenderId, caseId }, MAX_ENTRIES);
  const { payments, reversals } = await paymentsWithReversals(tx, lenderId, loan, MAX_ENTRIES);
  const kinds = [...HOLDER_KINDS.keys()];
  const { events, undelivered } = await streamHistory(tx, lenderId, { stream: loan, kinds }, new Date());
  const holders = holderChanges(events);
  const people = [theCase.assignedFieldPartnerId, ...[...visits, ...links, ...holders].map(personOf)];
  const others = [...new Set(people.filter((id) => id !== null))];
  const { reveals, fieldPartners } = await contactRevealsOf(tx, caseId, { others, limit: MAX_ENTRIES });
  return {
    theCase,
    cycles: cases,
    holders: newest(holders.toReversed()),
    visits: visits.map((visit) => ({ ...visit, distanceM: distanceOf(visit, theCase) })),
    promises,
    links,
    messages,
    payments,
    reversals,
    contactReveals: reveals,
    undeliveredEvents: newest(undelivered),
    acts: withActs ? await actsOnLoan(tx, lenderId, loan, MAX_ENTRIES) : [],
    fieldPartners,
  };
}

function newest<Entry>(entries: readonly Entry[]): readonly Entry[] {
  return entries.slice(0, MAX_ENTRIES);
}

function personOf({ fieldPartnerId }: { readonly fieldPartnerId: string }): string {
  return fieldPartnerId;
}

const HOLDER_KINDS = new Map<string, HolderChange["kind"]>([
  ["case.assigned", "assigned"],
  ["case.unassigned", "unassigned"],
]);

/** Returns the changes of the field partner that the events of a loan report, the oldest first. */
function holderChanges(events: readonly StreamEvent[]): HolderChange[] {
  return events.flatMap(({ kind, occurredAt, body }) => {
    const change = HOLDER_KINDS.get(kind);
    if (change === undefined) return [];
    const { data } = JSON.parse(body) as { data?: { fieldPartner?: { id?: string } | null } };
    const fieldPartnerId = parsePublicId("fp", data?.fieldPartner?.id ?? "");
    return fieldPartnerId === undefined ? [] : [{ kind: change, fieldPartnerId, at: occurredAt }];
  });
}

function distanceOf({ latitude, longitude }: Visit, { addresses }: Case): number | null {
  const [address] = addresses;
  if (latitude === null || longitude === null || !address) return null;
  if (address.latitude === null || address.longitude === null) return null;
  const to = { latitude: address.latitude, longitude: address.longitude };
  return metresBetween({ latitude: Number(latitude), longitude: Number(longitude) }, to);
}
