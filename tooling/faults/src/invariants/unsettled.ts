import type { Rows } from "./evidence.ts";

/**
 * Describes work that is still unfinished. Jobs that are scheduled for later are left out, and so are jobs that a
 * process is working on within their time limit.
 */
export async function unsettled(rows: Rows): Promise<string[]> {
  const { rows: found } = await rows.query<{ what: string }>(SELECT_UNSETTLED);
  return found.map(({ what }) => what);
}

const SELECT_UNSETTLED = `
  (select format('event %s of %s is %s after %s attempts', sequence, loan, state, attempts) as what
   from webhooks.delivery where state in ('waiting', 'retrying') order by lender_id, loan, sequence limit 20)
  union all
  (select format('a callback is suspended since %s', suspended_at) from webhooks.endpoint where state = 'suspended')
  union all
  (select format('the replay %s has sent %s of %s', id, done, total) from webhooks.replay where state = 'running')
  union all
  (select format('link %s is still requested', id) from payment_links.payment_link where status = 'requested' limit 20)
  union all
  (select format('the %s of link %s is still queued', channel, payment_link_id)
   from payment_links.link_delivery where status = 'queued' limit 20)
  union all
  (select format('%s jobs of %s are %s and overdue', count(*), name, state)
   from pgboss.job
   where (state in ('created', 'retry') and start_after < now() - interval '10 s')
     or (state = 'active' and started_on + make_interval(secs => expire_seconds + 30) < now())
   group by name, state)`;
