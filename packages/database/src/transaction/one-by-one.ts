import type { QueryResult } from "pg";
import type { TxClient } from "./open-transaction.ts";
import { sqlState } from "../sql/sql-state.ts";

/** A client that is asked one thing at a time. */
export interface PatientClient extends TxClient {
  /** When everything is answered. */
  drained(): Promise<unknown>;
  /** Why it can be asked no more, once a statement has failed and PostgreSQL has not said so. */
  lost(): Error | undefined;
}

/**
 * Sends a statement when the one before is answered. A client of `pg` that was not told to pipeline keeps such a queue
 * itself, but says that it will not for ever; and it goes on waiting for an answer that we have given up. So behind such
 * a statement nothing is sent: the rest fails as it did, at once.
 */
export function oneByOne(client: TxClient): PatientClient {
  let last: Promise<unknown> = Promise.resolve();
  let lost: Error | undefined;
  return {
    query(textOrConfig, values): Promise<QueryResult> {
      const answer = last.then(() => {
        if (lost) throw lost;
        return client.query(textOrConfig, values);
      });
      last = answer.catch((error: Error) => {
        if (sqlState(error) === undefined) lost = error;
      });
      return answer;
    },
    drained: () => last,
    lost: () => lost,
  };
}
