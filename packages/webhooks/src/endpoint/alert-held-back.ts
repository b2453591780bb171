import {
  allLendersStatement,
  type EntityManager,
  oneAfterAnother,
  query,
  queryReachable,
  statement,
  transaction,
} from "@collections/database";
import { enqueueMail, RAISED_COLUMNS, type RaisedAlert } from "./alert.ts";

/**
 * Enqueues the mails of alerts that were held back (each cause is mailed at most once an hour) and are now due. Discards
 * alerts that are no longer true. Call it every minute, in any number of processes: each alert is released by only one
 * of them. Returns the number of enqueued mails.
 */
export async function releaseHeldBack(em: EntityManager): Promise<number> {
  let mails = 0;
  const due = await queryReachable<{ lenderId: string }>(em, lendersWithHeldBack, []);
  await oneAfterAnother(em, due, async ({ lenderId }) => {
    mails += await transaction(em, async (tx) => {
      const released = await query<ReleasedAlert>(tx, release, [lenderId]);
      const holding = released.filter(({ holds }) => holds);
      for (const alert of holding) await enqueueMail(tx, alert);
      return holding.length;
    });
  });
  return mails;
}

interface ReleasedAlert extends RaisedAlert {
  /** Whether the alert is still true. An alert about a parked event or about an answer 410 is always true. */
  readonly holds: boolean;
}

const lendersWithHeldBack = allLendersStatement(
  "webhooks.lenders-with-ripe-alerts",
  { ofSome: "lender_id = any ($1::uuid[])" },
  (areTheLenders) => `select distinct lender_id as "lenderId" from webhooks.alert
   where ${areTheLenders} and held_back > 0 and raised_at <= now() - interval '1 hour'`,
);

// The mail describes the newest of the alerts that were held back, so `others` is `held_back` minus 1. The query uses
// `case when x = …`, because Citus 13.2 rewrites `case x when …` incorrectly when it sends the query to a node.
const release = statement(
  "webhooks.release-held-back",
  `with clock as materialized (
     select date_trunc('milliseconds', now()) as now
   ), ripe as materialized (
     select a.id, a.held_back - 1 as others,
       case
         when a.cause = 'suspended' then coalesce(e.state = 'suspended', false)
         when a.cause = 'recovered' then coalesce(e.state = 'active', false)
         else true end as holds
     from webhooks.alert a left join webhooks.endpoint e on e.lender_id = $1
     where a.lender_id = $1 and a.held_back > 0 and a.raised_at <= now() - interval '1 hour'
     for update of a skip locked
   )
   update webhooks.alert a
   set held_back = 0, raised_at = case when ripe.holds then clock.now else a.raised_at end
   from ripe, clock
   where a.lender_id = $1 and a.id = ripe.id
   returning ${RAISED_COLUMNS}, ripe.others as "heldBack", ripe.holds`,
);
