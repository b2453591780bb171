/** What an event and its delivery take. */
const EMITTED = ["webhooks.record-events", "webhooks.endpoint-to-emit-to", "webhooks.record-deliveries"];

/**
 * Statements that each confirmation, mint, imported row, lease and recorded result sends. A cluster is only worth it if
 * each of them is one command on the lender's node: more commands are more round trips inside the transaction, a COPY is
 * several, and a fan-out makes every lender wait for every node.
 */
export const hotStatements: readonly { readonly path: string; readonly names: readonly string[] }[] = [
  {
    path: "a lender's request is authenticated",
    names: ["lenders.lenders-of-keys", "lenders.key-of-lender"],
  },
  {
    path: "a confirmation",
    names: [
      "cases.lock-free-on-cluster",
      "cases.current-loans",
      "cases.lock-current",
      "payment-links.links-by-lender-link-id",
      "ledger.bookings-for",
      "ledger.payments-after",
      "ledger.insert-payment_booking",
      "ledger.insert-transfer",
      "lenders.commission-plans",
      "earnings.pending",
      "earnings.add",
      "earnings.credit",
      "cases.write-payments",
      "cases.write-balance-dates",
      "payment-links.mark-paid",
      ...EMITTED,
    ],
  },
  {
    path: "a mint",
    names: [
      "payment-links.lock-link",
      "payment-links.lock-links-of-case",
      "payment-links.claim-mint",
      "payment-links.save-link",
      "payment-links.insert-delivery",
      "cases.lock-one",
      ...EMITTED,
    ],
  },
  {
    path: "an imported row",
    names: ["cases.lock-imported", "cases.insert-imported", "cases.update-imported", "cases.retire", ...EMITTED],
  },
  {
    path: "a lease of deliveries",
    names: ["webhooks.lease"],
  },
  {
    path: "the results of deliveries",
    names: ["webhooks.log-attempts", "webhooks.record-results"],
  },
];
