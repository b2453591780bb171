import type { QueryResult } from "pg";
import type { TxClient } from "./open-transaction.ts";
import { sqlState } from "../sql/sql-state.ts";

/** A client that sends one statement at a time. */
export interface SequentialClient extends TxClient {
  /** Resolves when every statement is answered. */
  drained(): Promise<unknown>;
  /** The error that made this client unusable: a timeout or a lost connection, without an SQLSTATE. */
  lost(): Error | undefined;
}

/**
 * Sends each statement only after the previous statement was answered. A client of `pg` without `pipeline` queues
 * statements too, but `pg` has deprecated that queue. Such a client also keeps waiting for an answer after our time limit.
 * So after a statement that failed without an SQLSTATE nothing more is sent, and all later statements fail with the same
 * error at once.
 */
export function oneByOne(client: TxClient): SequentialClient {
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
