import { type EntityManager, query, send, statement, type Tx } from "@collections/database";
import type { CurrencyCode } from "@collections/money";
import type { LockedCase } from "../case/locked-case.ts";

/** An open promise whose day is over. */
export interface DuePromise {
  readonly lenderId: string;
  readonly id: string;
  readonly caseId: string;
  /** `YYYY-MM-DD` */
  readonly dueOn: string;
}

/** An open promise under the lock of its case, with the moment from which payments count towards it. */
export interface OpenPromise extends DuePromise {
  readonly visitId: string;
  readonly amountMinor: bigint;
  readonly currency: CurrencyCode;
  /** The end of its visit by the phone's clock, limited to the 7 days before the service received it. */
  readonly madeAt: Date;
}

/**
 * The longest time that a visit is taken to have waited in a phone without a network. If a phone's clock is further
 * behind, payments from before the visit would keep its promise. The results of the app's mutations are kept as long.
 */
const MAX_OFFLINE_HOURS = 7 * 24;

/**
 * How a promise ends. `moot`: the case ended without full payment before the day was over, so the promise has no
 * result.
 */
export type PromiseOutcome = "kept" | "broken" | "moot";

/**
 * Decides the outcome of a promise once its day is over. `paidMinor` is the sum of the payments on the case from the
 * time of the promise to `dayEnd`. Pure.
 *
 * - kept: the payments add up to the promised amount, or nothing is owed any more: payments cleared the case by
 *   `dayEnd`,
 * or the lender settled it.
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
  // The confirmation may have arrived after the day although the payment was made on it.
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
  return query(em, selectDue, [lenderId, before, limit, after?.dueOn ?? null, after?.id ?? null]);
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
 * Ends an open promise. A moot promise is stored as `replaced`, as is one that a later promise replaced.
 *
 * @example
 * const [due] = await duePromises(em, { lenderId, before: "2026-11-28", limit: 1 });
 * if (due !== undefined) settlePromise(tx, due, "broken");
 */
export function settlePromise(
  tx: Tx,
  { lenderId, id }: Pick<DuePromise, "lenderId" | "id">,
  outcome: PromiseOutcome,
): void {
  send(tx, updateState, [lenderId, id, outcome === "moot" ? "replaced" : outcome]);
}

const selectDue = statement(
  "cases.due-promises",
  `select lender_id as "lenderId", id, case_id as "caseId", due_on::text as "dueOn" from cases.promise
   where lender_id = $1 and state = 'open' and due_on < $2::date
     and ($4::date is null or (due_on, id) > ($4::date, $5::uuid))
   order by due_on, id limit $3`,
);

const selectOpen = statement(
  "cases.open-promise-by-id",
  `select p.lender_id as "lenderId", p.id, p.case_id as "caseId", p.due_on::text as "dueOn", p.visit_id as "visitId",
     p.amount_minor as "amountMinor", p.currency::text as currency,
     greatest(least(v.completed_at, p.created_at), p.created_at - interval '${MAX_OFFLINE_HOURS} hours') as "madeAt"
   from cases.promise p join cases.visit v on v.lender_id = p.lender_id and v.id = p.visit_id
   where p.lender_id = $1 and p.id = $2 and p.state = 'open'`,
);

const updateState = statement(
  "cases.settle-promise",
  "update cases.promise set state = $3 where lender_id = $1 and id = $2 and state = 'open'",
);
