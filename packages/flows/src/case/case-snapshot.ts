import { bucketOf, type Case, caseByLoan, type Visit, visitById } from "@collections/cases";
import { type EntityManager, publicId, readSnapshot } from "@collections/database";
import { type FieldPartner, fieldPartnersByIds } from "@collections/field-partners";
import { type Booking, paymentsOf } from "@collections/ledger";
import { toWire } from "@collections/money";
import { liveLink, type PaymentLink } from "@collections/payment-links";

const MAX_PAYMENTS = 50;

/**
 * The state of a loan's current case in the names of an event, so that a receiver feeds it to the function that applies
 * events (contract: Partner endpoints, GET cases/{loan}); undefined when the lender has no such loan. All of it is read
 * at one moment: the sequence and the money agree. No contact data: the lender has it.
 *
 * @example
 * const snapshot = await caseSnapshot(em, lender.id, "LN-2026-00417");
 * if (snapshot) console.log(snapshot.sequence, JSON.stringify(snapshot.body));
 */
export async function caseSnapshot(
  em: EntityManager,
  lenderId: string,
  loan: string,
): Promise<CaseSnapshot | undefined> {
  return readSnapshot(em, async (tx) => {
    const theCase = await caseByLoan(tx, lenderId, loan);
    if (!theCase) return undefined;
    const { assignedFieldPartnerId: holderId, lastVisitId } = theCase;
    const holders = await fieldPartnersByIds(tx, holderId === null ? [] : [holderId]);
    const lastVisit = lastVisitId === null ? null : await visitById(tx, lenderId, lastVisitId);
    const link = await liveLink(tx, { lenderId, caseId: theCase.id });
    // Of this cycle: they add up to its totalCollected.
    const payments = (await paymentsOf(tx, lenderId, loan, MAX_PAYMENTS)).filter(({ caseId }) => caseId === theCase.id);
    const body = snapshotBody(theCase, { holder: holders.get(holderId ?? ""), lastVisit, link, payments });
    return { sequence: theCase.sequence, body };
  });
}

/**
 * A loan's state after the event of this `sequence`; `body` is what is answered, in the names and values of the wire.
 */
export interface CaseSnapshot {
  readonly sequence: bigint;
  readonly body: object;
}

interface Surroundings {
  readonly holder: FieldPartner | undefined;
  readonly lastVisit: Visit | null;
  readonly link: PaymentLink | undefined;
  readonly payments: readonly Booking[];
}

function snapshotBody(theCase: Case, { holder, lastVisit, link, payments }: Surroundings): object {
  const { currency } = theCase;
  return {
    success: true,
    sourceLoanNumber: theCase.sourceLoanNumber,
    caseId: publicId("case", theCase.id),
    cycle: theCase.cycle,
    sequence: Number(theCase.sequence),
    status: theCase.status,
    statusReason: theCase.statusReason,
    fieldWork: theCase.fieldWork,
    currency,
    placedAmount: toWire(theCase.placedMinor, currency),
    totalCollected: toWire(theCase.totalCollectedMinor, currency),
    outstandingAfter: toWire(theCase.outstandingMinor, currency),
    excessAmount: toWire(theCase.excessMinor, currency),
    dpd: theCase.dpd,
    bucket: bucketOf(theCase),
    assignedFieldPartner: holder ? { id: publicId("fp", holder.id), displayName: holder.displayName } : null,
    lastVisit: lastVisit && {
      visitId: publicId("vis", lastVisit.id),
      completedAt: lastVisit.completedAt,
      disposition: lastVisit.disposition,
    },
    activeLink: link
      ? {
          linkId: link.linkId,
          amount: toWire(link.amountMinor, currency),
          status: link.status,
          createdAt: link.createdAt,
        }
      : null,
    payments: payments.map(paymentBody),
    createdAt: theCase.createdAt,
    updatedAt: theCase.updatedAt,
    closedAt: theCase.closedAt,
    closeReason: theCase.closeReason,
    serverTime: new Date(),
  };
}

function paymentBody({ reference, amountMinor, currency, mode, paidAt, linkId, recordedAt }: Booking): object {
  return { reference, amount: toWire(amountMinor, currency), mode, paidAt, linkId, recordedAt };
}
