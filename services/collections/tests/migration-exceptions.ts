import type { Rule } from "./migration-rules.ts";

/** What is done all the same, by step and rule, with the reason why processes of the version before live beside it. */
export const EXCEPTIONS: Readonly<Record<string, Readonly<Partial<Record<Rule, string>>>>> = {
  "ledger/0002-payments-in-balance": {
    drop: "it is a check, which no process names, and all that it allowed is still allowed",
    constraint:
      "it allows all that the check beside it allowed, which is dropped, and an older process never writes the column that it adds; not valid, so that no row is read under the lock",
  },
  "ledger/0004-digests-by-trigger": {
    trigger: "it only fills in a digest that is missing, and every older process writes the digest itself",
  },
  "webhooks/0008-partitions-on-a-cluster": {
    replaced:
      "make_partitions and drop_partitions do and return the same as before on one PostgreSQL, and failed on a cluster",
  },
};
