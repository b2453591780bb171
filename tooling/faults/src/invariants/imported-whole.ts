import type { Invariant } from "./evidence.ts";

export const importedWhole: Invariant = {
  name: "every acknowledged import exists once, every other import completely or not at all",
  async violations({ rows, model }) {
    const { rows: cases } = await rows.query<{ loan: string; times: string }>(
      "select source_loan_number as loan, count(*) as times from cases.collection_case group by 1",
    );
    const times = new Map(cases.map((one) => [one.loan, Number(one.times)]));
    const twice = cases.filter((one) => Number(one.times) > 1).map(({ loan }) => `${loan} was imported twice`);
    const broken = model.batches.flatMap(({ loans, isAcknowledged }) => {
      const there = loans.filter((loan) => times.has(loan)).length;
      if (there === loans.length || (there === 0 && !isAcknowledged)) return [];
      return [
        `${there} of ${loans.length} loans exist of the ${isAcknowledged ? "acknowledged" : "unacknowledged"} import that begins with ${loans[0]}`,
      ];
    });
    return [...twice, ...broken];
  },
};
