import type { Evidence, Invariant } from "./evidence.ts";

/** For each link, the link's row, its events and the lender's own records must agree. */
export const linksExplained: Invariant = {
  name: "every payment link is in a state that its history explains",
  async violations(evidence) {
    const { rows: unexplained } = await evidence.rows.query<{ what: string }>(SELECT_UNEXPLAINED);
    return [
      ...unexplained.map(({ what }) => what),
      ...(await unlikeTheLender(evidence)),
      ...(await unlikeTheApp(evidence)),
    ];
  },
};

async function unlikeTheLender({ rows, lender }: Evidence): Promise<string[]> {
  const { rows: minted } = await rows.query<{ id: string; linkId: string }>(SELECT_MINTED);
  const invented = minted.filter(({ linkId }) => !lender.madeLinks.has(linkId));
  const repeated = [...lender.mintCalls].filter(([, calls]) => calls > 1);
  return [
    ...invented.map(({ id, linkId }) => `link ${id} has the linkId ${linkId}, which the lender never minted`),
    ...repeated.map(([key, calls]) => `the lender's mint endpoint was called ${calls} times for ${key}`),
  ];
}

async function unlikeTheApp({ rows, model }: Evidence): Promise<string[]> {
  const { rows: links } = await rows.query<{ id: string }>("select id from payment_links.payment_link");
  const kept = new Set(links.map(({ id }) => id));
  const lost = model.links.filter(({ linkId }) => linkId !== undefined && !kept.has(rowId(linkId)));
  const found = lost.map(({ linkId }) => `link ${linkId} was returned to the app but does not exist`);
  if (links.length > model.links.length) {
    found.push(`${model.links.length} links were requested, but ${links.length} exist`);
  }
  return found;
}

/** The app's ids are `PaymentLink:<uuid>` in base64. */
function rowId(globalId: string): string {
  return Buffer.from(globalId, "base64").toString("utf8").replace("PaymentLink:", "");
}

const SELECT_MINTED = `
  select id, link_id as "linkId" from payment_links.payment_link where minted_at is not null`;

const SELECT_UNEXPLAINED = `
  with reported as (
    select lender_id, source_loan_number as loan, kind, body::jsonb -> 'data' ->> 'linkId' as link_id, count(*) as times
    from webhooks.event where kind in ('payment_link.created', 'payment_link.unavailable') group by 1, 2, 3, 4
  ), failed as (
    select lender_id, source_loan_number as loan, count(*) as times from payment_links.payment_link
    where unavailable_at is not null group by 1, 2
  )
  select format('link %s is %s since %s, and %s', l.id, l.status, l.updated_at, trouble) as what
  from payment_links.payment_link l
  left join reported t on t.lender_id = l.lender_id and t.kind = 'payment_link.created' and t.link_id = l.link_id
  cross join lateral (values
    (case when l.status = 'requested' then 'no process is minting it' end),
    (case when l.status <> 'requested' and l.mint_started_at is null then 'its mint call was never made' end),
    (case when l.minted_at is not null and l.unavailable_at is not null then 'is both minted and unavailable' end),
    (case when l.status in ('minted', 'sent', 'superseded') and l.minted_at is null then 'was never minted' end),
    (case when l.status = 'sent' and l.sent_at is null then 'was never sent' end),
    (case when l.unavailable_reason = 'asked_too_long_ago'
      then 'counts as asked too long ago, but no outage took ten minutes' end),
    (case when l.minted_at is not null and t.times is distinct from 1
      then format('has %s events of its creation', coalesce(t.times, 0)) end),
    (case when l.status = 'superseded' and not exists (select from payment_links.payment_link n
      where n.lender_id = l.lender_id and n.case_id = l.case_id and n.id <> l.id and n.minted_at >= l.minted_at)
      then 'no other link replaced it' end),
    (case when (l.status = 'paid') <> exists (select from ledger.payment_booking b
      where b.lender_id = l.lender_id and b.source_loan_number = l.source_loan_number and b.link_id = l.link_id)
      then 'its bookings do not match the status' end)
  ) as reason (trouble)
  where trouble is not null
  union all
  select format('%s has %s unavailable links, but %s events of them', coalesce(f.loan, t.loan),
    coalesce(f.times, 0), coalesce(t.times, 0))
  from failed f
  full join (select lender_id, loan, sum(times) as times from reported where kind = 'payment_link.unavailable' group by 1, 2) t
    on t.lender_id = f.lender_id and t.loan = f.loan
  where f.times is distinct from t.times`;
