import { setTimeout as pause } from "node:timers/promises";
import { oneOf } from "./seeded-random.ts";
import type { Pace, Scene } from "./pace.ts";
import { UnansweredError } from "./traffic-end.ts";

const LOANS_AT_A_TIME = 10;
const RETRY_AFTER_MS = 200;

let senders = 0;

/** An import row with the required fields, and an e-mail address to send links to. */
export function importRow(sourceLoanNumber: string, outstandingAmount: number): object {
  return {
    sourceLoanNumber,
    borrowerName: "Ravi Kumar",
    borrowerPhone: "+919800000001",
    borrowerEmail: "ravi@example.com",
    outstandingAmount,
  };
}

/**
 * The lender imports new loans in atomic batches of ten, and repeats each batch until it is answered. Throws
 * UnansweredError if a batch has no answer at the end.
 */
export async function importLoans(stage: Scene, { random, isOver, isTooLate, rest }: Pace): Promise<void> {
  const client = stage.client();
  senders += 1;
  const prefix = `NEW/${senders}-`;
  try {
    for (let number = 1; !isOver(); number += 1) {
      const loans = Array.from({ length: LOANS_AT_A_TIME }, (_, index) => `${prefix}${number}-${index}`);
      const batch = { loans, isAcknowledged: false };
      stage.model.batches.push(batch);
      while (!batch.isAcknowledged) {
        client.connect({ serviceUrl: oneOf(random, stage.servers.urls) });
        const rows = loans.map((loan) => importRow(loan, 1_000));
        const answer = await client.importCases(rows, { atomic: true }).catch(() => undefined);
        batch.isAcknowledged = answer?.status === 200;
        if (answer !== undefined && answer.status !== 200 && !stage.mayRefuse(answer)) {
          stage.model.odd(`an import was answered ${answer.status}: ${answer.rawBody.slice(0, 300)}`);
          break;
        }
        if (!batch.isAcknowledged && isTooLate()) throw new UnansweredError(`the import of ${loans[0]!} and others`);
        if (!batch.isAcknowledged) await pause(RETRY_AFTER_MS);
      }
      await rest();
    }
  } finally {
    client.disconnect();
  }
}
