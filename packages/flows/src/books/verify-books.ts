import { type CaseBalance, collectionsLedger, fieldPartnerBalances, receivableBalances } from "@collections/bookings";
import { caseTotals, type CaseTotals } from "@collections/cases";
import { type EntityManager, publicId, readSnapshot, type Tx } from "@collections/database";
import { earningsTotals } from "@collections/earnings";
import type { TrialBalance, VerifyOptions } from "@collections/ledger";
import { listLenders } from "@collections/lenders";
import { deliveryTotals, holdEvents, lastSequences, sequenceProblems } from "@collections/webhooks";
import { verifyBookingEvents } from "./verify-booking-events.ts";
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

const PAGE = 1_000;
const MAX_PROBLEMS = 1_000;

/**
 * Verifies the ledger, and then compares it with the other domains: the amounts of each case with its ledger lines, the
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
    let after: string | undefined;
    do {
      const page = await readSnapshot(em, (tx) => checkCases(tx, lenderId, after));
      problems.push(...page.problems);
      cases += page.count;
      after = page.last;
    } while (after !== undefined);
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

async function checkCases(
  tx: Tx,
  lenderId: string,
  after: string | undefined,
): Promise<{ problems: BooksProblem[]; count: number; last: string | undefined }> {
  await holdEvents(tx);
  const page = await caseTotals(tx, lenderId, after, PAGE);
  const last = page.length === PAGE ? page.at(-1)?.id : undefined;
  const balances = new Map((await receivableBalances(tx, lenderId, after, PAGE)).map((one) => [one.caseId, one]));
  const current = page.filter(({ isCurrent }) => isCurrent);
  const sequences = await lastSequences(
    tx,
    lenderId,
    current.map(({ sourceLoanNumber }) => sourceLoanNumber),
  );
  const problems = page.flatMap((theCase) => {
    const lastSequence = theCase.isCurrent ? (sequences.get(theCase.sourceLoanNumber) ?? 0n) : theCase.sequence;
    const details = [...moneyFaults(theCase, balances.get(theCase.id)), ...sequenceFaults(theCase, lastSequence)];
    return details.map((detail) => ({
      code: "CASE_MISMATCH",
      table: "collection_case",
      id: theCase.id,
      lenderId,
      detail: `${theCase.sourceLoanNumber}: ${detail}`,
    }));
  });
  return { problems, count: page.length, last };
}

/** Compares the amounts of a case with its ledger lines. A case without lines must have no amounts. */
function moneyFaults(theCase: CaseTotals, balance: CaseBalance | undefined): string[] {
  const pairs = [
    ["outstanding", theCase.outstandingMinor, balance?.outstandingMinor ?? 0n],
    ["total collected", theCase.totalCollectedMinor, balance?.collectedMinor ?? 0n],
    ["total reversed", theCase.totalReversedMinor, balance?.reversedMinor ?? 0n],
    ["excess", theCase.excessMinor, balance?.excessMinor ?? 0n],
  ] as const;
  return pairs.flatMap(([what, said, booked]) =>
    said === booked ? [] : [`The case has ${what} ${said}, but its lines add up to ${booked} (minor units).`],
  );
}

function sequenceFaults({ sequence }: CaseTotals, lastSequence: bigint): string[] {
  return sequence === lastSequence
    ? []
    : [`The case is at sequence ${sequence}, its last event has sequence ${lastSequence}.`];
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
