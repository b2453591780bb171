import type { Evidence, Invariant } from "./evidence.ts";

/** What the row, the events and the lender say of a link tell one story. */
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
    ...invented.map(({ id, linkId }) => `link ${id} is ${linkId} of the lender, who never made it`),
    ...repeated.map(([key, calls]) => `the lender was asked ${calls} times to mint for ${key}`),
  ];
}

async function unlikeTheApp({ rows, model }: Evidence): Promise<string[]> {
  const { rows: links } = await rows.query<{ id: string }>("select id from payment_links.payment_link");
  const kept = new Set(links.map(({ id }) => id));
  const lost = model.links.filter(({ linkId }) => linkId !== undefined && !kept.has(rowId(linkId)));
  const found = lost.map(({ linkId }) => `link ${linkId} was promised to the app and is not there`);
  if (links.length > model.links.length) {
    found.push(`${model.links.length} links were asked for, and ${links.length} are there`);
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
  with told as (
    select lender_id, source_loan_number as loan, kind, body::jsonb -> 'data' ->> 'linkId' as link_id, count(*) as times
    from webhooks.event where kind in ('payment_link.created', 'payment_link.unavailable') group by 1, 2, 3, 4
  ), failed as (
    select lender_id, source_loan_number as loan, count(*) as times from payment_links.payment_link
    where unavailable_at is not null group by 1, 2
  )
  select format('link %s is %s since %s, and %s', l.id, l.status, l.updated_at, trouble) as what
  from payment_links.payment_link l
  left join told t on t.lender_id = l.lender_id and t.kind = 'payment_link.created' and t.link_id = l.link_id
  cross join lateral (values
    (case when l.status = 'requested' then 'nobody mints it any more' end),
    (case when l.status <> 'requested' and l.mint_started_at is null then 'its mint call was never made' end),
    (case when l.minted_at is not null and l.unavailable_at is not null then 'was both minted and not' end),
    (case when l.status in ('minted', 'sent', 'superseded') and l.minted_at is null then 'was never minted' end),
    (case when l.status = 'sent' and l.sent_at is null then 'was never sent' end),
    (case when l.unavailable_reason = 'asked_too_long_ago'
      then 'counts as asked too long ago, and nothing was away for ten minutes' end),
    (case when l.minted_at is not null and t.times is distinct from 1
      then format('the lender was told %s times that it was made', coalesce(t.times, 0)) end),
    (case when l.status = 'superseded' and not exists (select from payment_links.payment_link n
      where n.lender_id = l.lender_id and n.case_id = l.case_id and n.id <> l.id and n.minted_at >= l.minted_at)
      then 'no other link took its place' end),
    (case when (l.status = 'paid') <> exists (select from ledger.payment_booking b
      where b.lender_id = l.lender_id and b.source_loan_number = l.source_loan_number and b.link_id = l.link_id)
      then 'its payments say otherwise' end)
  ) as reason (trouble)
  where trouble is not null
  union all
  select format('%s has %s unavailable links, and the lender was told of %s', coalesce(f.loan, t.loan),
    coalesce(f.times, 0), coalesce(t.times, 0))
  from failed f
  full join (select lender_id, loan, sum(times) as times from told where kind = 'payment_link.unavailable' group by 1, 2) t
    on t.lender_id = f.lender_id and t.loan = f.loan
  where f.times is distinct from t.times`;
