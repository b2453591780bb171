import { type Booking, paymentsOf, type Reversal, reversalsOf } from "@collections/bookings";
import { type Case, caseByLoan, type Visit, visitById } from "@collections/cases";
import { publicId, readSnapshot } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type FieldPartner, fieldPartnersByIds } from "@collections/field-partners";
import { toWire } from "@collections/money";
import { liveLink, type PaymentLink } from "@collections/payment-links";
import { paymentBody } from "./payment-body.ts";
import { caseStateBody, caseTimesBody } from "./case-body.ts";

const MAX_PAYMENTS = 50;

/**
 * Returns the state of a loan's current case, or undefined if the lender has no such loan (contract: Partner endpoints,
 * GET cases/{loan}). The fields are named as in events, so that a receiver can pass the body to the function that
 * applies events. Everything is read from one database snapshot, so that the sequence and the amounts agree. The body
 * contains no contact data, because the lender already has them.
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
    // Keep only the payments of this cycle, because totalCollected is their sum.
    const payments = (await paymentsOf(tx, lenderId, loan, MAX_PAYMENTS)).filter(({ caseId }) => caseId === theCase.id);
    const reversals = await reversalsOf(tx, lenderId, loan);
    const body = snapshotBody(theCase, { holder: holders.get(holderId ?? ""), lastVisit, link, payments, reversals });
    return { sequence: theCase.sequence, body };
  });
}

/** The state of a loan after the event with this `sequence`. `body` is the answer of the API. */
export interface CaseSnapshot {
  readonly sequence: bigint;
  readonly body: object;
}

interface RelatedFacts {
  readonly holder: FieldPartner | undefined;
  readonly lastVisit: Visit | null;
  readonly link: PaymentLink | undefined;
  readonly payments: readonly Booking[];
  readonly reversals: readonly Reversal[];
}

function snapshotBody(theCase: Case, { holder, lastVisit, link, payments, reversals }: RelatedFacts): object {
  const { currency } = theCase;
  const reversalsOfPayment = Map.groupBy(reversals, ({ bookingId }) => bookingId);
  return {
    success: true,
    ...caseStateBody(theCase, holder),
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
    payments: payments.map((payment) => paymentBody(payment, reversalsOfPayment.get(payment.id))),
    ...caseTimesBody(theCase),
    serverTime: new Date(),
  };
}
