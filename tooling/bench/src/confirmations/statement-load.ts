import { Client as PgClient } from "pg";
import { answerQuestions } from "../load/child.ts";
import { type Client, closedLoop, type Extent } from "../load/closed-loop.ts";
import { CONFIRM_IN_ONE_STATEMENT } from "../books/one-statement.ts";
import { type Loans, loansOf, type Payment, paymentSeries } from "../load/payment.ts";

/**
 * A load that books payments in the fastest possible way: each payment is one prepared statement over plain `pg`, and
 * each client has its own connection. The payments are the same as those of a `ConfirmLoad`.
 */
export interface StatementLoad {
  readonly databaseUrl: string;
  /** The lenders' ids by their codes. */
  readonly lenderIds: Readonly<Record<string, string>>;
  readonly loans: Loans;
  readonly series: string;
  readonly clients: number;
  readonly extent: Extent;
}

const connections: PgClient[] = [];

answerQuestions(async (load: StatementLoad) => {
  while (connections.length < load.clients) {
    const connection = new PgClient({ connectionString: load.databaseUrl });
    await connection.connect();
    connections.push(connection);
  }
  const nextPayment = paymentSeries(loansOf(load.loans), load.series);
  const clients = connections
    .slice(0, load.clients)
    .map((connection) => payer(connection, load.lenderIds, nextPayment));
  return closedLoop(clients, load.extent);
});

function payer(connection: PgClient, lenderIds: StatementLoad["lenderIds"], nextPayment: () => Payment): Client {
  return async () => {
    const { loan, reference } = nextPayment();
    const values = [lenderIds[loan.lenderCode], loan.lenderCode, loan.number, reference, new Date().toISOString()];
    const { rowCount } = await connection.query({ name: "confirm", text: CONFIRM_IN_ONE_STATEMENT, values });
    if (rowCount !== 1)
      throw new Error(`The statement updated ${rowCount} cases of the loan ${loan.number} instead of one.`);
  };
}
