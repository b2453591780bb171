import { setTimeout as pause } from "node:timers/promises";
import { type EntityManager, inBatches } from "@collections/database";
import { confirmFreePayments, confirmPayments } from "./confirm-payments.ts";
import type { Confirmation, ConfirmationOutcome } from "./confirmation.ts";

/** What a confirmer works with. */
export interface ConfirmerOptions {
  /** A fresh EntityManager for each batch. */
  readonly em: () => EntityManager;
  readonly environment: string;
  /** A batch never mixes lenders: for a database that has their rows on several nodes. Default: it may. */
  readonly oneLenderABatch?: boolean;
  /** Told of each batch that leaves. */
  readonly onBatch?: (confirmations: number) => void;
}

/** More batches under way, or larger ones, gained nothing when measured; letting a few wait for others gained a third. */
const SWIFT = { maxItems: 64, maxUnderWay: 2, fewest: 16 };
/**
 * On a cluster each batch waits for its lender's node, so more are under way than on one PostgreSQL. A node that does not
 * answer can hold six connections of the process, of ten.
 */
const SWIFT_ON_CLUSTER = { maxUnderWay: 4, maxUnderWayOfKind: 2, maxBesidesLate: 2 };
const PATIENT = { maxItems: 64, maxUnderWay: 4 };
const PATIENT_ON_CLUSTER = { maxUnderWayOfKind: 2 };
/**
 * Pauses before a busy loan's payments try again. Most loans are busy for some milliseconds, because of another
 * server's batch: trying again keeps their payments apart from those of a loan that is held for long.
 */
const TRY_AGAIN_AFTER_MS = [5, 20, 80];

/**
 * Confirms payments as they come, in batches that mix loans and, by default, lenders. A batch never waits for a lock:
 * payments of a loan that another transaction holds try again, and at last wait in batches of their own. A payment of an
 * unknown loan is refused by its first batch. Throws OverloadedError.
 *
 * @example
 * const confirm = createConfirmer({ em: () => database.em(), environment: "live" });
 * const outcome = await confirm(payment);
 */
export function createConfirmer(options: ConfirmerOptions): (payment: Confirmation) => Promise<ConfirmationOutcome> {
  const { em, environment, oneLenderABatch = false, onBatch } = options;
  const kindOf = oneLenderABatch ? ({ lender }: Confirmation) => lender.id : undefined;
  const swift = inBatches({
    ...SWIFT,
    ...(oneLenderABatch && SWIFT_ON_CLUSTER),
    kindOf,
    lockOf: ({ lender, loan }: Confirmation) => lender.id + loan,
    run(payments: Confirmation[]) {
      onBatch?.(payments.length);
      return confirmFreePayments(em(), payments, environment);
    },
  });
  const patient = inBatches({
    ...PATIENT,
    ...(oneLenderABatch && PATIENT_ON_CLUSTER),
    kindOf,
    run: (payments: Confirmation[]) => confirmPayments(em(), payments, environment),
  });
  return async (payment) => {
    let outcome = await swift(payment);
    for (const pauseMs of TRY_AGAIN_AFTER_MS) {
      if (outcome.kind !== "busy") return outcome;
      await pause(pauseMs);
      outcome = await swift(payment);
    }
    return outcome.kind === "busy" ? patient(payment) : outcome;
  };
}
