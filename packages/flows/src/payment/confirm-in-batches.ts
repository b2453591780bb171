import { setTimeout as pause } from "node:timers/promises";
import { inBatches } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { confirmFreePayments, confirmPayments } from "./confirm-payments.ts";
import type { Confirmation, ConfirmationOutcome } from "./confirmation.ts";

/** The options of `createConfirmer`. */
export interface ConfirmerOptions {
  /** Returns a new EntityManager for each batch. */
  readonly em: () => EntityManager;
  readonly environment: string;
  /**
   * Whether each batch has payments of one lender only. Set it for a database with lenders on several nodes. Default:
   * false.
   */
  readonly oneLenderABatch?: boolean;
  /** Is called with the size of each batch when it is sent. */
  readonly onBatch?: (confirmations: number) => void;
}

/**
 * The size and number of the batches that do not wait for locks, chosen by measurement. More concurrent batches, or
 * larger ones, did not increase the throughput. The throughput was a third higher when the first payments waited for
 * more payments to fill a batch.
 */
const NON_BLOCKING = { maxItems: 64, maxUnderWay: 2, minItems: 16 };
/**
 * On a cluster each batch waits for the node of its lender, so more batches run concurrently than on a single
 * PostgreSQL. A node that does not answer can occupy six connections.
 */
const NON_BLOCKING_ON_CLUSTER = { maxUnderWay: 4, maxUnderWayOfKind: 2, maxLateUncounted: 2 };
const BLOCKING = { maxItems: 64, maxUnderWay: 4 };
const BLOCKING_ON_CLUSTER = { maxUnderWayOfKind: 2 };
/**
 * The pauses before the payments of a locked loan are retried. Most loans are locked only for a few milliseconds, by a
 * batch of another server. These retries keep most payments of locked loans out of the blocking batches. Only a payment
 * whose loan is still locked after the last retry waits in a blocking batch.
 */
const RETRY_AFTER_MS = [5, 20, 80];

/**
 * Returns a function that confirms payments as they arrive, in batches that mix loans and, by default, lenders. These
 * batches never wait for a lock. A payment of a loan that another transaction has locked is retried a few times. After
 * that, it waits for the lock in a separate batch. A payment of an unknown loan is refused by its first batch. Throws
 * OverloadedError.
 *
 * @example
 * const confirm = createConfirmer({ em: () => database.em(), environment: "live" });
 * const outcome = await confirm(payment);
 */
export function createConfirmer(options: ConfirmerOptions): (payment: Confirmation) => Promise<ConfirmationOutcome> {
  const { em, environment, oneLenderABatch = false, onBatch } = options;
  const kindOf = oneLenderABatch ? ({ lender }: Confirmation) => lender.id : undefined;
  const confirmWithoutWaiting = inBatches({
    ...NON_BLOCKING,
    ...(oneLenderABatch && NON_BLOCKING_ON_CLUSTER),
    kindOf,
    lockOf: ({ lender, loan }: Confirmation) => lender.id + loan,
    run(payments: Confirmation[]) {
      onBatch?.(payments.length);
      return confirmFreePayments(em(), payments, environment);
    },
  });
  const confirmWithWaiting = inBatches({
    ...BLOCKING,
    ...(oneLenderABatch && BLOCKING_ON_CLUSTER),
    kindOf,
    run: (payments: Confirmation[]) => confirmPayments(em(), payments, environment),
  });
  return async (payment) => {
    let outcome = await confirmWithoutWaiting(payment);
    for (const pauseMs of RETRY_AFTER_MS) {
      if (outcome.kind !== "busy") return outcome;
      await pause(pauseMs);
      outcome = await confirmWithoutWaiting(payment);
    }
    return outcome.kind === "busy" ? confirmWithWaiting(payment) : outcome;
  };
}
