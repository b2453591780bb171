import {
  type Booking,
  paymentsByReference,
  reconciliationRun,
  type Reversal,
  reversalsByReference,
} from "@collections/bookings";
import { type Case, caseById, casesWithLoanNumber, visitById } from "@collections/cases";
import { parsePublicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type FieldPartner, fieldPartnerById, searchFieldPartners } from "@collections/field-partners";
import type { Lender } from "@collections/lenders";
import { linksWithLinkId, type PaymentLink } from "@collections/payment-links";
import { deliveryOfEvent, type DeliverySummary } from "@collections/webhooks";
import { possibleReferences } from "../payment/reference.ts";
import { foundCases } from "./search-cases.ts";

/** The fields of a case that identify it. `status` is its state. */
export type FoundLoan = Pick<Case, "id" | "sourceLoanNumber" | "status" | "borrowerName">;

/** Something that the searched text names. */
export type Finding =
  | { readonly kind: "case"; readonly lender: Lender; readonly theCase: FoundLoan }
  | {
      readonly kind: "visit";
      readonly lender: Lender;
      readonly visitId: string;
      readonly loan: string;
      readonly hasEnded: boolean;
    }
  | { readonly kind: "event"; readonly lender: Lender; readonly delivery: DeliverySummary }
  | { readonly kind: "reconciliation"; readonly lender: Lender; readonly runId: string }
  | {
      readonly kind: "payment";
      readonly lender: Lender;
      readonly payment: Booking;
      /** The part of the payment that was not reversed, in minor units. */
      readonly remainingMinor: bigint;
    }
  | { readonly kind: "reversal"; readonly lender: Lender; readonly reversal: Reversal }
  | { readonly kind: "link"; readonly lender: Lender; readonly link: PaymentLink }
  | { readonly kind: "field_partner"; readonly fieldPartner: FieldPartner };

/** Where to search, and how much to find. */
export interface FindOptions {
  readonly lenders: readonly Lender[];
  /** The maximum number of findings of each kind. */
  readonly limit: number;
  /** Called while cases are searched, with the number of cases found so far. */
  readonly onProgress?: ((found: number) => void) | undefined;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Finds what a text names: an id of a case, visit, event, reconciliation or field partner; a loan number or its end; a
 * reference of a payment or reversal; a link id; a field partner's name, phone or last digits; words of a borrower's
 * name. Ends of loan numbers and names of borrowers are searched only if no loan, reference or link id is equal to the
 * text.
 *
 * @example
 * const findings = await find(em, "UTR402812345678", { lenders: [lender], limit: 20 });
 * const payments = findings.filter(({ kind }) => kind === "payment");
 */
export async function find(em: EntityManager, text: string, options: FindOptions): Promise<Finding[]> {
  const byId = await findById(em, text, options);
  if (byId) return byId;
  const exact = await findExact(em, text, options);
  const people = await searchFieldPartners(em, { text, limit: options.limit });
  const findings = [...exact, ...people.map((fieldPartner) => ({ kind: "field_partner", fieldPartner }) as const)];
  if (exact.length > 0) return findings;
  const { found } = await foundCases(em, { text }, { ...options, after: null });
  return [...findings, ...found.map(({ lender, ...theCase }) => ({ kind: "case", lender, theCase }) as const)];
}

type FinderById = (em: EntityManager, lender: Lender, id: string) => Promise<Finding | undefined>;

const FINDERS: Readonly<Record<string, FinderById>> = {
  case: async (em, lender, caseId) => {
    const theCase = await caseById(em, { lenderId: lender.id, caseId });
    return theCase ? { kind: "case", lender, theCase } : undefined;
  },
  vis: async (em, lender, visitId) => {
    const visit = await visitById(em, lender.id, visitId);
    const theCase = visit && (await caseById(em, { lenderId: lender.id, caseId: visit.caseId }));
    if (!theCase) return undefined;
    return {
      kind: "visit",
      lender,
      visitId,
      loan: theCase.sourceLoanNumber,
      hasEnded: visit.completionReceivedAt !== null,
    };
  },
  evt: async (em, lender, eventId) => {
    const delivery = await deliveryOfEvent(em, lender.id, eventId, new Date());
    return delivery ? { kind: "event", lender, delivery } : undefined;
  },
  rec: async (em, lender, runId) => {
    const run = await reconciliationRun(em, { lenderId: lender.id, runId });
    return run ? { kind: "reconciliation", lender, runId } : undefined;
  },
};

/** Returns what an id names, or undefined if the text is not an id. An id without a prefix is looked up in every table. */
async function findById(em: EntityManager, text: string, { lenders }: FindOptions): Promise<Finding[] | undefined> {
  const bare = UUID.test(text) ? text.toLowerCase() : undefined;
  const idFor = (prefix: string) => bare ?? parsePublicId(prefix, text);
  const personId = idFor("fp");
  const wanted = Object.entries(FINDERS).flatMap(([prefix, finder]) => {
    const id = idFor(prefix);
    return id === undefined ? [] : [{ id, finder }];
  });
  if (personId === undefined && wanted.length === 0) return undefined;
  const found: Finding[] = [];
  for (const lender of lenders) {
    for (const { id, finder } of wanted) {
      const finding = await finder(em, lender, id);
      if (finding) found.push(finding);
    }
  }
  const fieldPartner = personId === undefined ? undefined : await fieldPartnerById(em, personId);
  return fieldPartner ? [...found, { kind: "field_partner", fieldPartner }] : found;
}

/**
 * Returns the loans, payments, reversals and links that the text names exactly: first in the order of the lenders, and
 * the links last. Except on a cluster, the number of queries does not depend on that of the lenders.
 */
async function findExact(em: EntityManager, text: string, { lenders, limit }: FindOptions): Promise<Finding[]> {
  const ids = lenders.map(({ id }) => id);
  const search = { references: possibleReferences(text), limit };
  const caseOf = new Map((await casesWithLoanNumber(em, ids, text)).map((theCase) => [theCase.lenderId, theCase]));
  const loans = ids.flatMap((id) => caseOf.get(id) ?? []).slice(0, limit);
  const cases = Map.groupBy(loans, ({ lenderId }) => lenderId);
  const payments = Map.groupBy(await paymentsByReference(em, ids, search), ({ lenderId }) => lenderId);
  const reversals = Map.groupBy(await reversalsByReference(em, ids, search), ({ lenderId }) => lenderId);
  const links = await linksWithLinkId(
    em,
    ids.map((lenderId) => ({ lenderId, linkId: text })),
  );
  const lenderOf = new Map(lenders.map((lender) => [lender.id, lender]));
  return [
    ...lenders.flatMap((lender): Finding[] => [
      ...(cases.get(lender.id) ?? []).map((theCase) => ({ kind: "case", lender, theCase }) as const),
      ...(payments.get(lender.id) ?? []).map(({ reversedMinor, ...payment }) => {
        return { kind: "payment", lender, payment, remainingMinor: payment.amountMinor - reversedMinor } as const;
      }),
      ...(reversals.get(lender.id) ?? []).map((reversal) => ({ kind: "reversal", lender, reversal }) as const),
    ]),
    ...links.slice(0, limit).map((link) => ({ kind: "link", lender: lenderOf.get(link.lenderId)!, link }) as const),
  ];
}
