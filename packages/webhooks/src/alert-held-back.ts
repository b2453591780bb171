import { type EntityManager, query, statement, transaction } from "@collections/database";
import { enqueueMail, RAISED_COLUMNS, type RaisedAlert } from "./alert.ts";

const ROWS_AT_A_TIME = 100;

/**
 * Has the mails sent that an hour without another one held back, where what they tell is still so; the others are
 * forgotten. To be called every minute, in any number of processes: a row is one process's. Returns how many mails.
 *
 * @example
 * setInterval(() => releaseHeldBack(database.em()).catch(console.error), 60_000);
 */
export async function releaseHeldBack(em: EntityManager): Promise<number> {
  let mails = 0;
  for (;;) {
    const ripe = await transaction(em, async (tx) => {
      const released = await query<ReleasedAlert>(tx, release, [ROWS_AT_A_TIME]);
      for (const alert of released.filter(({ holds }) => holds)) await enqueueMail(tx, alert);
      return released;
    });
    mails += ripe.filter(({ holds }) => holds).length;
    if (ripe.length < ROWS_AT_A_TIME) return mails;
  }
}

interface ReleasedAlert extends RaisedAlert {
  /** Whether it is still so. What is parked, or was answered with 410, stays a fact. */
  readonly holds: boolean;
}

// The mail tells of the newest occasion itself, so it adds to one less than were held back.
const release = statement(
  "webhooks.release-held-back",
  `with ripe as materialized (
     select a.lender_id, a.id, a.held_back - 1 as others,
       case a.cause
         when 'suspended' then coalesce(e.state = 'suspended', false)
         when 'recovered' then coalesce(e.state = 'active', false)
         else true end as holds
     from webhooks.alert a left join webhooks.endpoint e on e.lender_id = a.lender_id
     where a.held_back > 0 and a.raised_at <= now() - interval '1 hour'
     limit $1
     for update of a skip locked
   )
   update webhooks.alert a
   set held_back = 0, raised_at = case when holds then date_trunc('milliseconds', now()) else a.raised_at end
   from ripe where a.lender_id = ripe.lender_id and a.id = ripe.id
   returning ${RAISED_COLUMNS}, ripe.others as "heldBack", ripe.holds`,
);
