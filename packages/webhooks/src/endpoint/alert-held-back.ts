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
 * Enqueues the mails of alerts that were held back because there is at most one mail an hour, if what they say is still true.
 * Discards the other alerts. To be called every minute, by any number of processes: a row is released by one of them. Returns
 * how many mails were enqueued.
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
  /** Whether what the alert says is still true. An event that was parked, or answered 410, stays a fact. */
  readonly holds: boolean;
}

const lendersWithHeldBack = allLendersStatement(
  "webhooks.lenders-with-ripe-alerts",
  { ofSome: "lender_id = any ($1::uuid[])" },
  (areTheLenders) => `select distinct lender_id as "lenderId" from webhooks.alert
   where ${areTheLenders} and held_back > 0 and raised_at <= now() - interval '1 hour'`,
);

// The mail describes the newest occasion, so `others` is one less than `held_back`. The query says `case when`, because Citus
// 13.2 sends a wrong spelling of `case x when …` to the node.
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
