import type { Invariant } from "./evidence.ts";

/**
 * Compares the acknowledged payments with the bookings as a lender does it every morning, by `payment reconcile`. Only two
 * differences have an explanation: a payment that was booked although its answer was lost, and a payment that was
 * reversed.
 */
export const reconciled: Invariant = {
  name: "`payment reconcile` finds every acknowledged payment, and no payment that was not sent",
  violations({ reconciliation, model }) {
    if (reconciliation === null) return Promise.resolve([]);
    const { counts, onlyOurs, reversed } = reconciliation;
    const acknowledged = [...model.payments.values()].filter((payment) => payment.acknowledged);
    const reversedReferences = new Set([...model.reversals.values()].map(({ reference }) => reference));
    const lists = [
      "onlyYours",
      "referenceDiffers",
      "amountDiffers",
      "onOtherLoan",
      "otherDay",
      "outsideWindow",
      "rejected",
    ] as const;
    const unexplained = lists
      .filter((list) => counts[list] > 0)
      .map((list) => `${counts[list]} payments are in ${list}`);
    const strange = [
      ...onlyOurs
        .filter(({ reference }) => !model.payments.has(reference) || model.payments.get(reference)!.acknowledged)
        .map(({ reference }) => `${reference} is in onlyOurs`),
      ...reversed
        .filter(({ reference }) => !reversedReferences.has(reference))
        .map(({ reference }) => `${reference} is in reversed, but no client reversed it`),
    ];
    const found = counts.matched + counts.reversed;
    const missing =
      found === acknowledged.length
        ? []
        : [`${acknowledged.length} payments were acknowledged, and ${found} are found`];
    return Promise.resolve([...unexplained, ...strange, ...missing]);
  },
};
