import { collectionsLedger, fieldPartnerBalances } from "@collections/bookings";
import { publicId, readSnapshot } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { earningsTotals } from "@collections/earnings";
import type { TrialBalance, VerifyOptions } from "@collections/ledger";
import { listLenders } from "@collections/lenders";
import { deliveryTotals, holdEvents, sequenceProblems } from "@collections/webhooks";
import { verifyBookingEvents } from "./verify-booking-events.ts";
import { verifyCases } from "./verify-cases.ts";
import { verifyCommissions } from "./verify-commissions.ts";
import { verifyPayouts } from "./verify-payouts.ts";
import { verifyReversals } from "./verify-reversals.ts";

/** A row that contradicts other rows. */
export interface BooksProblem {
  readonly code: string;
  readonly table: string;
  readonly id: string;
  readonly lenderId: string;
  readonly detail: string;
}

/** The number of rows that were checked, by table. */
export interface BooksCounts {
  readonly lenders: number;
  readonly accounts: bigint;
  readonly transfers: bigint;
  readonly bookings: bigint;
  readonly reversals: bigint;
  readonly blocks: bigint;
  readonly cases: number;
  readonly events: number;
}

/** Options of `verifyBooks`. */
export interface VerifyBooksOptions extends Omit<VerifyOptions, "book" | "onProgress"> {
  /** Verify this lender only. Default: all lenders. */
  readonly lenderId?: string;
  readonly onProgress?: (progress: BooksProgress) => void;
}

/** The progress of a verification. It is reported before each check. */
export interface BooksProgress {
  readonly lenderId: string;
  readonly lendersDone: number;
  readonly lenders: number;
  readonly check: string;
  readonly totalProblems: bigint;
}

/** The result of a verification of all books. */
export interface BooksVerification {
  readonly ok: boolean;
  readonly counts: BooksCounts;
  readonly trialBalance: readonly TrialBalance[];
  readonly problems: readonly BooksProblem[];
  readonly totalProblems: bigint;
}

const MAX_PROBLEMS = 1_000;

/**
 * Verifies the ledger, and then compares it with the other domains: the amounts of each case with its ledger lines, its
 * status and field partner with its last events, the
 * earnings and payouts of field partners, the earnings on each booking with the booking and with its transfers, the
 * sequence of each loan with its events, every booking with its `payment.collected` event, every reversal with its
 * `payment.reversed` event and with the earnings, and every event with its delivery. It only reads.
 *
 * @example
 * const { ok, problems, totalProblems } = await verifyBooks(em, { now: new Date() });
 * if (!ok) console.error(`${totalProblems} problems found`);
 * for (const { code, table, id, detail } of problems) console.error(code, table, id, detail);
 */
export async function verifyBooks(em: EntityManager, options: VerifyBooksOptions): Promise<BooksVerification> {
  const { onProgress } = options;
  const ledger = await collectionsLedger.verify(em, ledgerOptions(options));
  const problems: BooksProblem[] = ledger.problems.map(({ code, table, id, book: lenderId, detail }) => {
    return { code, table, id, lenderId, detail };
  });
  // Count the problems that were found but not listed, because a check lists only its first problems.
  let unlisted = ledger.totalProblems - BigInt(ledger.problems.length);
  const lenders = (await listLenders(em)).filter(({ id }) => options.lenderId === undefined || id === options.lenderId);
  let cases = 0;
  let events = 0;
  for (const [lendersDone, { id: lenderId }] of lenders.entries()) {
    const reportProgress = (check: string) =>
      onProgress?.({
        lenderId,
        lendersDone,
        lenders: lenders.length,
        check,
        totalProblems: BigInt(problems.length) + unlisted,
      });
    reportProgress("cases");
    const compared = await verifyCases(em, lenderId);
    problems.push(...compared.problems);
    cases += compared.count;
    reportProgress("earnings");
    problems.push(...(await readSnapshot(em, (tx) => checkEarnings(tx, lenderId))));
    reportProgress("commissions");
    const commissions = await verifyCommissions(em, lenderId);
    problems.push(...commissions.problems);
    unlisted += BigInt(commissions.total - commissions.problems.length);
    reportProgress("payouts");
    problems.push(...(await verifyPayouts(em, lenderId)));
    reportProgress("events of bookings");
    const unlike = await verifyBookingEvents(em, lenderId);
    problems.push(...unlike.problems);
    unlisted += BigInt(unlike.total - unlike.problems.length);
    reportProgress("reversals");
    problems.push(...(await verifyReversals(em, lenderId)));
    reportProgress("events");
    const found = await readSnapshot(em, (tx) => checkEvents(tx, lenderId));
    problems.push(...found.problems);
    events += found.published;
  }
  const totalProblems = BigInt(problems.length) + unlisted;
  const { books, accounts, transfers, bookings, reversals, blocks } = ledger.counts;
  return {
    ok: totalProblems === 0n,
    counts: { lenders: books, accounts, transfers, bookings, reversals, blocks, cases, events },
    trialBalance: ledger.trialBalance,
    problems: problems.slice(0, MAX_PROBLEMS),
    totalProblems,
  };
}

/** In the ledger of collections, each lender has one book. */
function ledgerOptions({ lenderId, onProgress, ...others }: VerifyBooksOptions): VerifyOptions {
  return {
    ...others,
    ...(lenderId === undefined ? {} : { book: lenderId }),
    ...(onProgress && {
      onProgress: ({ book, booksDone, books, ...rest }) =>
        onProgress({ lenderId: book, lendersDone: booksDone, lenders: books, ...rest }),
    }),
  };
}

/** Checks that the earning lines of each field partner add up to the amounts in the books. */
async function checkEarnings(tx: Tx, lenderId: string): Promise<BooksProblem[]> {
  const booked = new Map(
    (await fieldPartnerBalances(tx, lenderId)).map((one) => [`${one.fieldPartnerId}/${one.currency}`, one]),
  );
  const lines = await earningsTotals(tx, lenderId);
  const said = new Map(lines.map((one) => [`${one.fieldPartnerId}/${one.currency}`, one]));
  return [...new Set([...booked.keys(), ...said.keys()])].flatMap((key) => {
    const states = ["pendingMinor", "creditedMinor", "paidMinor"] as const;
    const off = states.filter((state) => (said.get(key)?.[state] ?? 0n) !== (booked.get(key)?.[state] ?? 0n));
    return off.map((state) => ({
      code: "EARNINGS_MISMATCH",
      table: "earning",
      id: key,
      lenderId,
      detail: `${state}: the earning lines add up to ${said.get(key)?.[state] ?? 0n}, the books to ${booked.get(key)?.[state] ?? 0n}.`,
    }));
  });
}

async function checkEvents(tx: Tx, lenderId: string): Promise<{ problems: BooksProblem[]; published: number }> {
  await holdEvents(tx);
  const gaps = (await sequenceProblems(tx, lenderId)).map(({ fault, stream: loan, after, found, eventId }) => ({
    code: fault === "gap" ? "SEQUENCE_GAP" : "SEQUENCE_DUPLICATE",
    table: "event",
    id: publicId("evt", eventId),
    lenderId,
    detail: `Loan ${loan}: the event after sequence ${after} has sequence ${found}.`,
  }));
  const { published, delivered, waiting, retrying, parked } = await deliveryTotals(tx, lenderId);
  const tracked = delivered + waiting + retrying + parked;
  if (published === tracked) return { problems: gaps, published };
  const detail = `${published} events are published, but ${tracked} are delivered, waiting, retrying or parked.`;
  const lost = { code: "DELIVERY_MISSING", table: "delivery", id: lenderId, lenderId, detail };
  return { problems: [...gaps, lost], published };
}
