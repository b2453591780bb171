/** The statements that write an event and its delivery. */
const EMITTED = ["webhooks.record-events", "webhooks.endpoint-to-emit-to", "webhooks.record-deliveries"];

/**
 * The statements that are sent for every confirmation, mint, imported row, lease and recorded result. On a cluster each
 * of them must be one command on the lender's node. Each further command is a further round trip inside the
 * transaction. A COPY needs several commands. A command to all nodes makes every lender wait for every node.
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
      "cases.write-balances",
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
