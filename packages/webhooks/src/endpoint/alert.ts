import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { enqueue, newId, query, queue, statement, type Tx } from "@collections/database";
import type { AttemptErrorCode } from "./attempt.ts";

/** Why a lender is written to. `gone`: the callback answered 410. contract: Retry and suspension */
export type AlertCause = "suspended" | "parked" | "gone" | "recovered";

/** What a mail can tell of an occasion; times are ISO 8601. */
export interface AlertFacts {
  /** When the failures in a row began; `parked`: when the event was made; `recovered`: when it was suspended. */
  readonly since: string;
  readonly consecutiveFailures?: number;
  readonly nextProbeAt?: string;
  /** The event whose attempt led to it; its id is a UUID, as everywhere inside. */
  readonly eventId?: string;
  readonly kind?: string;
  readonly loan?: string;
  readonly sequence?: number;
  /** How many it has had. */
  readonly attempts?: number;
  /** Where the attempt went. */
  readonly url?: string;
  /** Of the answer; null, as its body, when there was none. */
  readonly status?: number | null;
  /** The first 2 KB. */
  readonly body?: string | null;
  /** Where a redirect leads. */
  readonly location?: string | undefined;
  readonly errorCode?: AttemptErrorCode;
  readonly errorDetail?: string;
}

/** A mail to be sent. It carries its facts, so that what happens later does not change what it says. */
export interface AlertJob {
  readonly lenderId: string;
  readonly alertId: string;
  readonly cause: AlertCause;
  /** ISO 8601. Together with `alertId` it names the mail. */
  readonly raisedAt: string;
  /** ISO 8601. Earlier than `raisedAt` where the mail was held back. */
  readonly happenedAt: string;
  readonly facts: AlertFacts;
  /** Occasions before this one that no mail has told of. */
  readonly heldBack: number;
  /** The technical contacts that have not got it yet; absent: none has. */
  readonly to?: readonly string[];
}

/** What the row remembers of the newest occasion, and how many before it the mail of that moment told of. */
type RememberedFacts = AlertFacts & Pick<AlertJob, "happenedAt"> & Partial<Pick<AlertJob, "heldBack">>;

/** The latest alert of each cause: one row per lender and cause, which is what keeps it to one mail an hour. */
export const AlertEntity = defineEntity({
  name: "Alert",
  schema: "webhooks",
  tableName: "alert",
  properties: {
    lenderId: p.uuid().primary(),
    id: p.uuid().primary(),
    cause: p.text().$type<AlertCause>(),
    facts: p.json<RememberedFacts>(),
    /** When the latest mail was asked for. */
    raisedAt: p.datetime().columnType("timestamptz"),
    /** Occasions since then for which no mail was sent. */
    heldBack: p.integer(),
  },
});

export type Alert = InferEntity<typeof AlertEntity>;

/**
 * Mails to technical contacts: tried for about a day, every hour at the end.
 *
 * @example
 * await database.jobs.work(alertQueue, { concurrency: 32 }, ({ data }) => writeMail(data));
 */
export const alertQueue = queue<AlertJob>("webhooks.alert", {
  retryLimit: 30,
  retryDelay: 30,
  retryDelayMax: 3_600,
  expireInSeconds: 120,
  deleteAfterSeconds: 3_600,
});

/**
 * Has a mail sent to the lender's technical contacts, once the transaction commits; within an hour of the last one of
 * its cause the occasion is only counted, and `releaseHeldBack` tells of it later. The row stays locked until the
 * commit: raise last, and several causes always in the same order. contract: Retry and suspension
 */
export async function raiseAlert(
  tx: Tx,
  { lenderId, cause, facts }: { lenderId: string; cause: AlertCause; facts: AlertFacts },
): Promise<void> {
  const kept = JSON.stringify(facts, (_key, value: unknown) => (typeof value === "string" ? keepable(value) : value));
  const [raised] = await query<RaisedAlert & { isDue: boolean }>(tx, raise, [lenderId, newId(), cause, kept]);
  if (raised?.isDue) await enqueueMail(tx, raised);
}

/** An alert's row whose mail is due; `happenedAt` is text, with the offset of the database's time zone. */
export interface RaisedAlert extends Omit<AlertJob, "raisedAt" | "to"> {
  readonly raisedAt: Date;
}

/** Has the mail sent once the transaction commits. */
export async function enqueueMail(tx: Tx, raised: RaisedAlert): Promise<void> {
  const { lenderId, alertId, cause, raisedAt, happenedAt, facts, heldBack } = raised;
  const times = { raisedAt: raisedAt.toISOString(), happenedAt: new Date(happenedAt).toISOString() };
  await enqueue(tx, alertQueue, { lenderId, alertId, cause, ...times, facts, heldBack });
}

/** What jsonb takes: neither NUL nor half a character. */
function keepable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** The columns of a `RaisedAlert`, but for `heldBack`. */
export const RAISED_COLUMNS = `a.lender_id as "lenderId", a.id as "alertId", a.cause, a.raised_at as "raisedAt",
  a.facts ->> 'happenedAt' as "happenedAt", a.facts - array['happenedAt', 'heldBack'] as facts`;

// Whole milliseconds: the time is a part of the mail's name.
// Citus accepts only IMMUTABLE functions in DO UPDATE and RETURNING: the difference of two times, not a time minus an
// interval, and no cast between text and a time.
const IS_DUE = `excluded.raised_at - a.raised_at >= interval '1 hour'`;

const raise = statement(
  "webhooks.raise-alert",
  `insert into webhooks.alert as a (lender_id, id, cause, facts, raised_at, held_back)
   values ($1, $2, $3, $4::jsonb || jsonb_build_object('happenedAt', date_trunc('milliseconds', now())),
     date_trunc('milliseconds', now()), 0)
   on conflict (lender_id, cause) do update
   set facts = case when ${IS_DUE} then jsonb_set(excluded.facts, '{heldBack}', a.held_back::text::jsonb)
         else excluded.facts end,
       raised_at = case when ${IS_DUE} then excluded.raised_at else a.raised_at end,
       held_back = case when ${IS_DUE} then 0 else a.held_back + 1 end
   returning ${RAISED_COLUMNS}, a.held_back = 0 as "isDue", coalesce((a.facts ->> 'heldBack')::integer, 0) as "heldBack"`,
);
