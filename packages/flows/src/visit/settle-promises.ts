import { paidOnCase } from "@collections/bookings";
import { type DuePromise, duePromises, openPromiseById, promiseOutcome, settlePromise } from "@collections/cases";
import { oneAfterAnother, publicId, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import { type LenderProfile, listLenders } from "@collections/lenders";
import { dayIn, spanOfDay } from "@collections/local-time";
import { toWire } from "@collections/money";
import { shownPromise } from "./complete-visit.ts";
import type { LinkLog } from "../link/link-jobs.ts";
import { lockLoan, recordLoanEvents } from "../case/lock-loan.ts";

/** The dependencies of the sweep of promises. */
export interface PromiseDeps {
  readonly database: Pick<Database, "em">;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  readonly log?: Pick<LinkLog, "warn">;
}

/** How long after the end of its day a promise is decided. Payments of the day's last minutes may be confirmed late. */
const CONFIRMATION_GRACE_MS = 3_600_000;
/**
 * A promise that was due longer ago than this is settled without an event. The first run after the upgrade to this
 * version finds all promises that were never replaced, and these may be years old.
 */
const EVENT_FOR_MS = 31 * 24 * 60 * 60_000;
const PROMISES_A_PAGE = 500;

/**
 * Decides every open promise whose day is over in its lender's time zone, and emits `promise.kept` or `promise.broken`
 * once for each. No event is emitted for a promise that is moot (its case ended before the day was over) or was due
 * more than 31 days ago. A promise is decided one hour after the end of its day. Several processes may run this at the
 * same time. A promise that cannot be decided is logged, and the next run tries it again. contract: Event kinds
 *
 * @example
 * await settlePromises({ database, environment: "live" }, await databaseTime(database.em()));
 */
export async function settlePromises(deps: PromiseDeps, now: Date): Promise<void> {
  await oneAfterAnother(deps.database.em(), await listLenders(deps.database.em()), async (lender) => {
    const before = dayIn(lender.timeZone, new Date(now.getTime() - CONFIRMATION_GRACE_MS));
    const silentBefore = dayIn(lender.timeZone, new Date(now.getTime() - EVENT_FOR_MS));
    let after: DuePromise | undefined;
    do {
      const page = { lenderId: lender.id, before, limit: PROMISES_A_PAGE, after };
      const due = await duePromises(deps.database.em(), page);
      for (const promise of due) {
        await settleUnlessItFails(deps, lender, promise, { now, sendsEvent: promise.dueOn >= silentBefore });
      }
      after = due.length === PROMISES_A_PAGE ? due.at(-1) : undefined;
    } while (after !== undefined);
  });
}

/**
 * Decides the open promise of a case at once, before its day is over, and emits its event. Only a scene of the sandbox
 * does this. The promise is decided by the payments so far.
 */
export async function settlePromiseNow(
  deps: PromiseDeps,
  lender: LenderProfile,
  promise: DuePromise,
  now: Date,
): Promise<void> {
  await settle(deps, lender, promise, { now, sendsEvent: true });
}

interface SettleOptions {
  readonly now: Date;
  readonly sendsEvent: boolean;
}

async function settleUnlessItFails(
  deps: PromiseDeps,
  lender: LenderProfile,
  promise: DuePromise,
  options: SettleOptions,
): Promise<void> {
  try {
    await settle(deps, lender, promise, options);
  } catch (error) {
    deps.log?.warn({ lenderId: promise.lenderId, promiseId: promise.id, error }, "promise not settled");
  }
}

async function settle(
  { database, environment }: PromiseDeps,
  { code, timeZone }: LenderProfile,
  { lenderId, id, caseId }: DuePromise,
  { now, sendsEvent }: SettleOptions,
): Promise<void> {
  await transaction(database.em(), async (tx) => {
    // Lock the case, and check that the promise is still open: another process may have settled it.
    const loan = await lockLoan(tx, { lenderId, caseId });
    const promise = await openPromiseById(tx, { lenderId, id });
    if (!promise) return;

    // Decide by the payments from the time of the promise to the end of its day.
    const { to: dayEnd } = spanOfDay(promise.dueOn, timeZone);
    const { sourceLoanNumber } = loan.worked;
    const { madeAt: from, currency, visitId } = promise;
    const paidMinor = await paidOnCase(tx, { lenderId, loan: sourceLoanNumber, caseId }, { from, to: dayEnd });
    const outcome = promiseOutcome(promise, paidMinor, loan.worked, dayEnd);

    // Write the promise. Emit the event unless the promise is moot or too old.
    await settlePromise(tx, promise, outcome);
    if (outcome === "moot" || !sendsEvent) return;
    const data = {
      visitId: publicId("vis", visitId),
      promise: shownPromise(promise),
      paidAmount: toWire(paidMinor, currency),
    };
    const eventData = [{ kind: `promise.${outcome}` as const, data }];
    await recordLoanEvents(tx, loan, { caseAfter: loan.worked, eventData }, { lenderCode: code, environment, now });
  });
}
