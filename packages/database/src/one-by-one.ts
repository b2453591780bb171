import type { QueryResult } from "pg";
import type { TxClient } from "./open-transaction.ts";

/** A client that is asked one thing at a time. */
export interface PatientClient extends TxClient {
  /** When everything is answered. */
  drained(): Promise<unknown>;
}

/**
 * Sends a statement when the one before is answered. A client of `pg` that was not told to pipeline keeps such a queue
 * itself, but says that it will not for ever.
 */
export function oneByOne(client: TxClient): PatientClient {
  let last: Promise<unknown> = Promise.resolve();
  return {
    query(textOrConfig, values): Promise<QueryResult> {
      const answer = last.then(() => client.query(textOrConfig, values));
      last = answer.catch(() => {});
      return answer;
    },
    drained: () => last,
  };
}
