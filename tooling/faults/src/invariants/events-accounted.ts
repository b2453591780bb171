import type { Invariant } from "./evidence.ts";

/** Every event has its own delivery, and every delivered event has arrived at the lender. */
export const eventsAccounted: Invariant = {
  name: "every published event is delivered, waiting or parked",
  async violations({ rows, lender }) {
    const { rows: orphans } = await rows.query<{ what: string }>(SELECT_ORPHANS);
    const { rows: delivered } = await rows.query<{ id: string; loan: string; sequence: string }>(SELECT_DELIVERED);
    const lost = delivered.filter(({ id }) => !lender.arrived.has(`evt_${id}`));
    return [
      ...orphans.map(({ what }) => what),
      ...lost.map(
        ({ loan, sequence }) =>
          `event ${sequence} of ${loan} counts as delivered, but the lender never acknowledged it`,
      ),
    ];
  },
};

const SELECT_ORPHANS = `
  select case when d.id is null then format('event %s of %s has no delivery', e.sequence, e.source_loan_number)
    when e.id is null then format('the delivery of event %s of %s has no event', d.sequence, d.loan)
    else format('event %s of %s is delivered as %s of %s', e.sequence, e.source_loan_number, d.sequence, d.loan)
    end as what
  from webhooks.event e
  full join webhooks.delivery d on d.lender_id = e.lender_id and d.id = e.id
  where d.id is null or e.id is null or d.sequence <> e.sequence or d.loan <> e.source_loan_number`;

const SELECT_DELIVERED = `
  select replace(id::text, '-', '') as id, loan, sequence from webhooks.delivery where state = 'delivered'`;
