import { query, statement } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import type { LockedCase } from "../case/locked-case.ts";
import { PromiseToPay, promiseTable } from "./promise-to-pay.ts";

/** An open promise whose day is over. `dueOn` is `YYYY-MM-DD`. */
export type DuePromise = Readonly<Pick<PromiseToPay, "lenderId" | "id" | "caseId" | "dueOn">>;

/** An open promise whose case is locked, with the time from which payments count towards the promise. */
export interface OpenPromise extends Readonly<Pick<PromiseToPay, (typeof OPEN_PROMISE)[number]>> {
  /**
   * The time when the promise's visit ended, by the phone's clock. It is limited to the 7 days before the service
   * received the end of the visit.
   */
  readonly madeAt: Date;
}

/**
 * The longest time that the end of a visit is assumed to have waited on a phone without a network. Without this limit,
 * a phone whose clock is further behind would make payments from before the visit count towards its promise. The
 * results of the app's mutations are stored for the same time.
 */
const MAX_OFFLINE_HOURS = 7 * 24;

/**
 * How a promise ends. `moot`: the case ended without full payment before the day was over, so the promise has no
 * result.
 */
export type PromiseOutcome = "kept" | "broken" | "moot";

/**
 * Decides the outcome of a promise once its day is over. `paidMinor` is the sum of the payments on the case from the
 * time of the promise to `dayEnd`. This function is pure.
 *
 * - kept: the payments add up to the promised amount, payments cleared the case by `dayEnd`, or the lender settled the
 *   case.
 * - moot: the case was closed or withdrawn before `dayEnd`.
 * - broken: otherwise.
 *
 * @example
 * const dayEnd = new Date("2026-11-27T18:30:00Z"); // the end of 27 November in India
 * promiseOutcome({ amountMinor: 250_000n }, 250_000n, lockedCase, dayEnd); // "kept"
 */
export function promiseOutcome(
  { amountMinor }: Pick<OpenPromise, "amountMinor">,
  paidMinor: bigint,
  theCase: Pick<LockedCase, "closedAt" | "closeReason" | "lastPaymentAt">,
  dayEnd: Date,
): PromiseOutcome {
  const { closedAt, closeReason, lastPaymentAt } = theCase;
  if (paidMinor >= amountMinor) return "kept";
  if (closedAt === null) return "broken";
  if (closeReason === "settled_by_lender") return "kept";
  const isClosedInTime = closedAt < dayEnd;
  if (closeReason !== "paid_in_full") return isClosedInTime ? "moot" : "broken";
  // The payment that cleared the case may have been made in time, although its confirmation arrived after the end of
  // the day.
  return isClosedInTime || (lastPaymentAt !== null && lastPaymentAt < dayEnd) ? "kept" : "broken";
}

/**
 * Returns a page of a lender's open promises that were due before a day, ordered by day and id. `after` is the last
 * promise of the previous page.
 *
 * @example
 * const first = await duePromises(em, { lenderId, before: "2026-11-28", limit: 500 });
 * const next = await duePromises(em, { lenderId, before: "2026-11-28", limit: 500, after: first.at(-1) });
 */
export async function duePromises(
  em: EntityManager,
  page: {
    readonly lenderId: string;
    readonly before: string;
    readonly limit: number;
    readonly after?: Pick<DuePromise, "dueOn" | "id"> | undefined;
  },
): Promise<DuePromise[]> {
  const { lenderId, before, limit, after } = page;
  const isDue = { lenderId, state: "open", dueOn: { $lt: before } } as const;
  const isLater = after && { $or: [{ dueOn: { $gt: after.dueOn } }, { dueOn: after.dueOn, id: { $gt: after.id } }] };
  return em.find(
    PromiseToPay,
    { ...isDue, ...isLater },
    { orderBy: { dueOn: "asc", id: "asc" }, limit, disableIdentityMap: true },
  );
}

/**
 * Returns the promise if it is still open. The caller has locked the case, so that no other transaction replaces or
 * settles the promise.
 *
 * @example
 * const [due] = await duePromises(em, { lenderId, before: "2026-11-28", limit: 1 });
 * if (due === undefined) return;
 * await lockCurrentCaseOf(tx, due);
 * const promise = await openPromiseById(tx, due); // undefined when replaced or settled in the meantime
 */
export async function openPromiseById(
  tx: Tx,
  { lenderId, id }: Pick<DuePromise, "lenderId" | "id">,
): Promise<OpenPromise | undefined> {
  const [promise] = await query<OpenPromise>(tx, selectOpen, [lenderId, id]);
  return promise;
}

/**
 * Ends an open promise. A moot promise is stored as `replaced`, like a promise that a later promise replaced.
 *
 * @example
 * const [due] = await duePromises(em, { lenderId, before: "2026-11-28", limit: 1 });
 * if (due !== undefined) await settlePromise(tx, due, "broken");
 */
export async function settlePromise(
  tx: Tx,
  { lenderId, id }: Pick<DuePromise, "lenderId" | "id">,
  outcome: PromiseOutcome,
): Promise<void> {
  const state = outcome === "moot" ? "replaced" : outcome;
  await tx.nativeUpdate(PromiseToPay, { lenderId, id, state: "open" }, { state });
}

const OPEN_PROMISE = ["lenderId", "id", "caseId", "dueOn", "visitId", "amountMinor", "currency"] as const;

const selectOpen = statement(
  "cases.open-promise-by-id",
  `select ${promiseTable.selectList("p", OPEN_PROMISE)},
     greatest(least(v.completed_at, p.created_at), p.created_at - interval '${MAX_OFFLINE_HOURS} hours') as "madeAt"
   from cases.promise p join cases.visit v on v.lender_id = p.lender_id and v.id = p.visit_id
   where p.lender_id = $1 and p.id = $2 and p.state = 'open'`,
);
