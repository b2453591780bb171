import { type ReversalOfPayment, reversalsWithPayments } from "@collections/bookings";
import {
  type CaseKey,
  latestVisitsOf,
  type LoanKey,
  openPromisesOf,
  type OwnCase,
  ownCasesByIds,
  type Page,
  type PromiseToPay,
  type Visit,
} from "@collections/cases";
import type { Database, EntityManager } from "@collections/entities";
import {
  type Earning,
  earningsByIds,
  earningsOfCases,
  type Payout,
  payoutsOfFieldPartner,
} from "@collections/earnings";
import { type Lender, lendersByIds } from "@collections/lenders";
import {
  deliveriesOf,
  type LinkDelivery,
  type LinkKey,
  linksOfFieldPartner,
  ownActiveLinks,
  type PaymentLink,
} from "@collections/payment-links";
import DataLoader from "dataloader";

type Loader<Key, Value> = DataLoader<Key, Value, string>;

/** One operation's EntityManager and its loaders. Loading a relation takes one query, however long the list is. */
export interface Reads {
  readonly em: EntityManager;
  /**
   * Finds a case of the field partner; undefined if the case does not exist or belongs to another field partner. The
   * same applies to `ownLink`.
   */
  readonly ownCase: Loader<string, OwnCase | undefined>;
  readonly ownLink: Loader<string, PaymentLink | undefined>;
  readonly ownEarning: Loader<string, Earning | undefined>;
  readonly ownPayout: Loader<string, Payout | undefined>;
  readonly lender: Loader<string, Lender>;
  readonly openPromise: Loader<CaseKey, PromiseToPay | undefined>;
  readonly activeLink: Loader<CaseKey, PaymentLink | undefined>;
  readonly earningsOfCase: Loader<CaseKey, readonly Earning[]>;
  /** The reversals of a loan's payments over all its cycles. */
  readonly reversalsOfLoan: Loader<LoanKey, readonly ReversalOfPayment[]>;
  readonly deliveries: Loader<LinkKey, readonly LinkDelivery[]>;
  /** The latest visits of a case, at most `first`. */
  readonly latestVisits: (first: number) => Loader<CaseKey, Page<Visit>>;
}

/** Makes the loaders of one operation. Without a field partner, `ownCase` and `ownLink` find nothing. */
export function createReads(database: Database, fieldPartnerId: string = NOBODY): Reads {
  const em = database.em();
  const latestVisits = new Map<number, Loader<CaseKey, Page<Visit>>>();
  return {
    em,
    ownCase: loader(idItself, (ids) => ownCasesByIds(em, fieldPartnerId, ids)),
    ownLink: loader(idItself, async (ids) => byId(await linksOfFieldPartner(em, fieldPartnerId, ids))),
    ownEarning: loader(idItself, async (ids) => byId(await earningsByIds(em, fieldPartnerId, ids))),
    ownPayout: loader(idItself, async (ids) => byId(await payoutsOfFieldPartner(em, fieldPartnerId, ids))),
    lender: loader(idItself, (ids) => lendersByIds(em, ids), lenderIsGone),
    openPromise: loader(caseIdOf, (cases) => openPromisesOf(em, cases)),
    activeLink: loader(caseIdOf, async (cases) => {
      const links = await ownActiveLinks(em, fieldPartnerId, cases);
      return new Map(links.map((link) => [link.caseId, link]));
    }),
    earningsOfCase: loader(
      caseIdOf,
      async (cases) => Map.groupBy(await earningsOfCases(em, fieldPartnerId, cases), ({ caseId }) => caseId),
      () => [],
    ),
    reversalsOfLoan: loader(
      loanKeyOf,
      async (loans) =>
        Map.groupBy(await reversalsWithPayments(em, loans), ({ lenderId, sourceLoanNumber: loan }) =>
          loanKeyOf({ lenderId, loan }),
        ),
      () => [],
    ),
    deliveries: loader(
      ({ id }: LinkKey) => id,
      async (links) => Map.groupBy(await deliveriesOf(em, links), ({ paymentLinkId }) => paymentLinkId),
      () => [],
    ),
    latestVisits(first) {
      const known = latestVisits.get(first);
      const made = known ?? loader(caseIdOf, (cases) => latestVisitsOf(em, cases, first), noVisits);
      if (!known) latestVisits.set(first, made);
      return made;
    },
  };
}

const NOBODY = "00000000-0000-0000-0000-000000000000";

function loader<Key, Value>(
  keyOf: (key: Key) => string,
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
): Loader<Key, Value | undefined>;
function loader<Key, Value>(
  keyOf: (key: Key) => string,
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
  absent: (key: string) => Value,
): Loader<Key, Value>;
function loader<Key, Value>(
  keyOf: (key: Key) => string,
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
  absent?: (key: string) => Value,
): Loader<Key, Value | undefined> {
  return new DataLoader(
    async (keys) => {
      const found = await read(keys);
      return keys.map((key) => found.get(keyOf(key)) ?? absent?.(keyOf(key)));
    },
    { cacheKeyFn: keyOf },
  );
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

function idItself(id: string): string {
  return id;
}

function caseIdOf({ caseId }: CaseKey): string {
  return caseId;
}

function loanKeyOf({ lenderId, loan }: LoanKey): string {
  return `${lenderId} ${loan}`;
}

function lenderIsGone(id: string): never {
  throw new Error(`The lender ${id} was not found, although it has cases.`);
}

function noVisits(): Page<Visit> {
  return { items: [], hasNext: false };
}
