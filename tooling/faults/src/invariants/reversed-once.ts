import type { Invariant } from "./evidence.ts";

interface Recorded {
  readonly loan: string;
  readonly reference: string;
  readonly reversalReference: string;
  readonly amount: string;
  readonly sequence: string;
}

/** Compares reversals by their reversal references, which a run never repeats. */
export const reversedOnce: Invariant = {
  name: "every acknowledged reversal is recorded once, as it was acknowledged, and none exceeds its payment",
  async violations({ rows, model }) {
    const { rows: reversals } = await rows.query<Recorded>(SELECT_REVERSALS);
    const { rows: excessive } = await rows.query<{ what: string }>(SELECT_EXCESSIVE);
    const byReference = Map.groupBy(reversals, ({ reversalReference }) => reversalReference);
    const unknown = [...byReference.keys()].filter((reversalReference) => !model.reversals.has(reversalReference));
    const found = [...model.reversals.values()].flatMap((sent) => {
      const { reversalReference: name, loan, reference, amountMinor, acknowledged, isRefused } = sent;
      const recorded = byReference.get(name) ?? [];
      if (recorded.length > 1) return [`${name} is recorded ${recorded.length} times`];
      const [reversal] = recorded;
      if (reversal === undefined) return acknowledged ? [`${name} was acknowledged but is not recorded`] : [];
      if (isRefused) return [`${name} was refused but is recorded`];
      const isAsSent = reversal.loan === loan && reversal.reference === reference;
      const wanted = acknowledged?.amountMinor ?? amountMinor;
      if (!isAsSent || (wanted !== undefined && BigInt(reversal.amount) !== BigInt(wanted))) {
        return [
          `${name} is recorded as ${reversal.amount} of ${reversal.reference} on ${reversal.loan}, which differs from what was sent`,
        ];
      }
      if (acknowledged && Number(reversal.sequence) !== acknowledged.sequence) {
        return [
          `${name} was acknowledged with sequence ${acknowledged.sequence}, but its row has ${reversal.sequence}`,
        ];
      }
      return [];
    });
    return [
      ...found,
      ...unknown.map((name) => `${name} is recorded, but no client sent it`),
      ...excessive.map(({ what }) => what),
    ];
  },
};

const SELECT_REVERSALS = `
  select source_loan_number as loan, reference, reversal_reference as "reversalReference", amount_minor::text as amount,
    sequence::text as sequence
  from ledger.payment_reversal`;

const SELECT_EXCESSIVE = `
  select format('%s of %s is %s, but its reversals are %s', b.reference, b.source_loan_number, b.amount_minor,
    sum(r.amount_minor)) as what
  from ledger.payment_reversal r
  join ledger.payment_booking b on b.lender_id = r.lender_id and b.id = r.booking_id
  group by b.lender_id, b.id, b.reference, b.source_loan_number, b.amount_minor
  having sum(r.amount_minor) > b.amount_minor`;
