import {
  defineTable,
  enqueue,
  type EntityManager,
  newId,
  query,
  queue,
  statement,
  type Tx,
} from "@collections/database";
import type { FailureReason } from "@collections/outbound";
import { addressOf } from "./address.ts";
import type { AttemptErrorCode } from "./attempt.ts";
import { streamNames, tenantNames } from "./old-names.ts";
import { type Recipient, recipientOf } from "./recipient.ts";

/** Why a tenant gets a mail. `gone`: the callback answered 410. contract: Retry and suspension */
export type AlertCause = "suspended" | "parked" | "gone" | "recovered";

/** The facts of an alert as its row stores them. */
export interface StoredAlertFacts {
  /**
   * The time of the first of the consecutive failures. For `parked`: the time when the event was created. For
   * `recovered`: the time when the endpoint was suspended.
   */
  readonly since: string;
  readonly consecutiveFailures?: number;
  readonly nextProbeAt?: string;
  /** The event whose attempt led to the alert, as a UUID. */
  readonly eventId?: string;
  readonly kind?: string;
  readonly loan?: string;
  readonly sequence?: number;
  /** How many attempts the event has had. */
  readonly attempts?: number;
  /** The URL of the attempt. */
  readonly url?: string;
  /** The status of the answer. Null, like `body`, if no answer came. */
  readonly status?: number | null;
  /** The first 2 KB of the answer's body. */
  readonly body?: string | null;
  /** The target of a redirect. */
  readonly location?: string | undefined;
  readonly errorCode?: AttemptErrorCode;
  /** The exact reason, if no answer came. Alerts that an older version raised do not have it. */
  readonly errorReason?: FailureReason;
  readonly errorDetail?: string;
}

/** The facts of an alert, for its mail. Times are in ISO 8601. */
export interface AlertFacts extends Omit<StoredAlertFacts, "loan"> {
  readonly stream?: string;
  /** @deprecated Use `stream`. Version 0.2 removes `loan`. */
  readonly loan?: string;
}

/** A mail to send. The job carries the facts, so that later changes do not alter the mail. */
export interface AlertJob extends Recipient {
  readonly alertId: string;
  readonly cause: AlertCause;
  /** When the mail was enqueued, in ISO 8601. `raisedAt` and `alertId` together identify the mail. */
  readonly raisedAt: string;
  /** When the cause of the mail occurred, in ISO 8601. Earlier than `raisedAt` if the mail was held back. */
  readonly happenedAt: string;
  readonly facts: AlertFacts;
  /** The number of earlier alerts of this cause that were held back and not mentioned in an earlier mail. */
  readonly heldBack: number;
  /** The technical contacts that have not received the mail yet. If absent, none has received it. */
  readonly to?: readonly string[];
}

/**
 * The facts of the newest alert as the row stores them. `heldBack` is the number of earlier alerts that the mail of
 * this alert mentioned.
 */
type RememberedFacts = StoredAlertFacts & Pick<AlertJob, "happenedAt"> & Partial<Pick<AlertJob, "heldBack">>;

/** The latest alert of each cause. One row per tenant and cause limits the mails to one an hour. */
export interface Alert {
  lenderId: string;
  id: string;
  cause: AlertCause;
  facts: RememberedFacts;
  /** When the latest mail was enqueued. */
  raisedAt: Date;
  /** The number of alerts that were held back since the latest mail was enqueued. */
  heldBack: number;
}

export const alerts = defineTable<Alert>("webhooks.alert", {
  lenderId: "uuid",
  id: "uuid",
  cause: "text",
  facts: "jsonb",
  raisedAt: "timestamptz",
  heldBack: "integer",
});
/**
 * Jobs that send alerts to technical contacts by mail. A job that fails is retried for about a day, in the end once an
 * hour. `startWebhooks` processes the queue if it gets `sendAlert`.
 *
 * @example
 * await transaction(em, (tx) => enqueue(tx, alertQueue, { ...job, to: ["ops@acme.example"] }));
 */
export const alertQueue = queue<AlertJob>("webhooks.alert", {
  retryLimit: 30,
  retryDelay: 30,
  retryDelayMax: 3_600,
  expireInSeconds: 120,
  deleteAfterSeconds: 3_600,
});

/**
 * Enqueues a mail to the tenant's technical contacts, in the caller's transaction. If the last mail of the same cause
 * was less than an hour ago, the alert is held back: it is only counted, and `releaseHeldBack` mails it later. The row
 * stays locked until the commit. So raise alerts at the end of the transaction. Always raise several causes in the same
 * order.
 * contract: Retry and suspension
 */
export async function raiseAlert(
  tx: Tx,
  { lenderId, cause, facts }: { lenderId: string; cause: AlertCause; facts: StoredAlertFacts },
): Promise<void> {
  const kept = JSON.stringify(facts, (_key, value: unknown) => (typeof value === "string" ? storable(value) : value));
  const [raised] = await query<RaisedAlert & { isDue: boolean }>(tx, raise, [lenderId, newId(), cause, kept]);
  if (raised?.isDue) await enqueueMail(tx, raised);
}

/** The row of an alert whose mail is due. `happenedAt` is text, with the offset of the database's time zone. */
export interface RaisedAlert extends Omit<StoredAlertJob, "raisedAt" | "to"> {
  readonly raisedAt: Date;
}

/** Enqueues the mail of an alert, in the caller's transaction. */
export async function enqueueMail(tx: Tx, raised: RaisedAlert): Promise<void> {
  const { lenderId, alertId, cause, raisedAt, happenedAt, facts, heldBack } = raised;
  const times = { raisedAt: raisedAt.toISOString(), happenedAt: new Date(happenedAt).toISOString() };
  const recipient = await recipientOf(tx, lenderId);
  await enqueue(tx, alertQueue, withNewNames({ ...recipient, alertId, cause, ...times, facts, heldBack }));
}

/** Whether the alert of a job is still stored. `eraseTenant` deletes it. */
export async function alertExists(em: EntityManager, job: AlertJob): Promise<boolean> {
  return (await query(em, selectAlert, [addressOf(job), job.alertId])).length > 0;
}

/**
 * Adds `tenantId` and `stream` to a job. A job keeps the older names `lenderId` and `loan` too, because processes of an
 * older version read them. Two kinds of input have only the older names: rows of alerts, and jobs that a process of an
 * older version has enqueued.
 */
export function withNewNames(job: StoredAlertJob): AlertJob {
  const { loan } = job.facts;
  const facts = loan === undefined ? job.facts : { ...job.facts, ...streamNames(loan) };
  return { ...job, ...tenantNames(job.lenderId), facts };
}

/** The data of a job, or the columns of an alert, with the older names only. */
interface StoredAlertJob extends Omit<AlertJob, "tenantId" | "lenderId" | "facts"> {
  readonly lenderId: string;
  readonly facts: StoredAlertFacts;
}

/** Replaces what jsonb cannot store: NUL, and half of a surrogate pair. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

/** The columns of a `RaisedAlert`, except `heldBack`. */
export const RAISED_COLUMNS = `a.lender_id as "lenderId", a.id as "alertId", a.cause, a.raised_at as "raisedAt",
  a.facts ->> 'happenedAt' as "happenedAt", a.facts - array['happenedAt', 'heldBack'] as facts`;

// Times are in whole milliseconds, because the time is a part of the mail's Message-ID. Citus accepts only IMMUTABLE
// functions in DO UPDATE and RETURNING. So the query compares the difference of two times with an interval instead of
// subtracting the interval from a time, and casts nothing between text and a time.
const IS_DUE = `excluded.raised_at - a.raised_at >= interval '1 hour'`;

const selectAlert = statement("webhooks.alert-exists", `select from ${alerts.name} where lender_id = $1 and id = $2`);

const RAISED = ["lenderId", "id", "cause", "facts", "raisedAt", "heldBack"] as const;

const raise = statement(
  "webhooks.raise-alert",
  `insert into ${alerts.name} as a (${alerts.columnList(RAISED)})
   values ($1, $2, $3, $4::jsonb || jsonb_build_object('happenedAt', date_trunc('milliseconds', now())),
     date_trunc('milliseconds', now()), 0)
   on conflict (lender_id, cause) do update
   set facts = case when ${IS_DUE} then jsonb_set(excluded.facts, '{heldBack}', a.held_back::text::jsonb)
         else excluded.facts end,
       raised_at = case when ${IS_DUE} then excluded.raised_at else a.raised_at end,
       held_back = case when ${IS_DUE} then 0 else a.held_back + 1 end
   returning ${RAISED_COLUMNS}, a.held_back = 0 as "isDue", coalesce((a.facts ->> 'heldBack')::integer, 0) as "heldBack"`,
);
