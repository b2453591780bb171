import { signingKey } from "@collections/signing";
import { answerQuestions } from "./child.ts";
import { type Client, closedLoop, type Extent } from "./closed-loop.ts";
import { HttpConnection } from "./http-connection.ts";
import { confirmBody, confirmPath, type Loans, loansOf, paymentSeries } from "./payment.ts";
import { type Signer, signedPost } from "./signed-request.ts";

/** A load of confirmations over signed HTTP. Each client waits for its answer before its next confirmation. */
export interface ConfirmLoad {
  /** The URLs of one or several server processes of the service. Each of them gets the same number of clients. */
  readonly serviceUrls: readonly string[];
  readonly keys: readonly { readonly lenderCode: string; readonly apiKeyId: string; readonly hmacSecret: string }[];
  readonly loans: Loans;
  readonly series: string;
  readonly clients: number;
  readonly extent: Extent;
}

/**
 * How many requests per millisecond of load are signed before the measurement begins. If they are used up, further
 * requests are signed during the measurement.
 */
const SIGNED_AHEAD_PER_MS = 8;

answerQuestions(async (load: ConfirmLoad) => {
  const urls = load.serviceUrls.map((url) => new URL(url));
  const { clients, extent } = load;
  const take = signedAhead(requests(load, urls[0]!.host), extent);
  const connections = await Promise.all(
    Array.from({ length: clients }, (_, client) => HttpConnection.open(urls[client % urls.length]!)),
  );
  const result = await closedLoop(
    connections.map((connection) => confirmer(connection, take)),
    extent,
  );
  for (const connection of connections) connection.close();
  return result;
});

function signedAhead(next: () => Buffer, extent: Extent): () => Buffer {
  const length = "count" in extent ? extent.count : extent.durationMs * SIGNED_AHEAD_PER_MS;
  const signed = Array.from({ length }, next);
  let taken = 0;
  return () => signed[taken++] ?? next();
}

function confirmer(connection: HttpConnection, take: () => Buffer): Client {
  return async () => {
    const { status, body } = await connection.send(take());
    if (status !== 200) throw new Error(`A confirmation was answered with ${status}: ${body}`);
  };
}

function requests({ keys, loans, series }: ConfirmLoad, host: string): () => Buffer {
  const signers = new Map<string, Signer>(
    keys.map(({ lenderCode, apiKeyId, hmacSecret }) => [lenderCode, { apiKeyId, key: signingKey(hmacSecret) }]),
  );
  const nextPayment = paymentSeries(loansOf(loans), series);
  return () => {
    const payment = nextPayment();
    const signer = signers.get(payment.loan.lenderCode);
    if (!signer) throw new Error(`There is no API key of the lender ${payment.loan.lenderCode}.`);
    const nowMs = Date.now();
    return signedPost(signer, host, confirmPath(payment.loan), confirmBody(payment, nowMs), nowMs);
  };
}
