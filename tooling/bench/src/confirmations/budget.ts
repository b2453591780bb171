import { signingKey } from "@collections/signing";
import { setTimeout as delay } from "node:timers/promises";
import type { LenderKey } from "../books/books.ts";
import { type CountedTransaction, type CountingProxy, startCountingProxy } from "../load/counting-proxy.ts";
import { type HttpAnswer, HttpConnection } from "../load/http-connection.ts";
import { confirmBody, confirmPath, type Loans, loansOf, paymentSeries } from "../load/payment.ts";
import { type Service, startService } from "../server/service.ts";
import { signedPost } from "../load/signed-request.ts";

/** The database work of a batch of confirmations. */
export interface BatchBudget {
  readonly confirmations: number;
  readonly statements: number;
  readonly roundTrips: number;
}

const LARGE_BATCH = 32;
/** The service runs at most this many batches at once; further confirmations gather for the next batch. */
const BATCHES_UNDER_WAY = 2;
const TRIES = 5;
const GATHER_MS = 100;
const POLL_MS = 5;
const HELD_WITHIN_MS = 500;
/**
 * How long to wait until a lender's API key in the cache of the service has expired: the service caches it for one
 * second.
 */
const KEY_KNOWN_FOR_MS = 1_100;

type Confirm = (count: number) => Promise<void>;

/** Counts on the wire what a server process sends to PostgreSQL for a batch of 1 and a batch of 32. */
export async function measureBudget(databaseUrl: string, key: LenderKey, loans: Loans): Promise<BatchBudget[]> {
  const proxy = await startCountingProxy(databaseUrl);
  const service = await startService({ databaseUrl: proxy.url, directUrl: databaseUrl, role: "server" });
  const connections = await Promise.all(
    Array.from({ length: LARGE_BATCH + BATCHES_UNDER_WAY }, () => HttpConnection.open(new URL(service.url))),
  );
  try {
    const confirm = confirmer(connections, new URL(service.url).host, key, loans);
    await confirm(connections.length);
    const one = (await batchesOf(proxy, () => confirm(1))).at(-1)!;
    const many = await largeBatch(proxy, service, confirm);
    return [budgetOf(1, one), budgetOf(LARGE_BATCH, many)];
  } finally {
    for (const connection of connections) connection.close();
    await service.stop();
    await proxy.close();
  }
}

/**
 * Makes the service write 32 confirmations in one batch. The service runs at most `BATCHES_UNDER_WAY` batches at once.
 * So the proxy first holds back that many batches of a single confirmation, and the next 32 confirmations have to
 * gather in one batch. The service's count of batches shows whether they did.
 */
async function largeBatch(proxy: CountingProxy, service: Service, confirm: Confirm): Promise<CountedTransaction> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    // Make the service cache the lender's API key again, because it cannot read the key while the proxy holds back
    // queries. To do so, wait until the cached key has expired, and confirm one payment.
    await delay(KEY_KNOWN_FOR_MS);
    await confirm(1);
    const batchesBefore = await service.metric("collections_confirmation_batches_total");
    const batches = await batchesOf(proxy, () => gather(proxy, confirm));
    const made = (await service.metric("collections_confirmation_batches_total")) - batchesBefore;
    if (made === BATCHES_UNDER_WAY + 1 && batches.length === made) return batches.at(-1)!;
  }
  throw new Error(`In ${TRIES} tries, ${LARGE_BATCH} confirmations never formed one batch.`);
}

async function gather(proxy: CountingProxy, confirm: Confirm): Promise<void> {
  const answers: Promise<void>[] = [];
  proxy.hold();
  for (let underWay = 1; underWay <= BATCHES_UNDER_WAY; underWay += 1) {
    answers.push(confirm(1));
    await withinReason(() => proxy.heldConnections() === underWay);
  }
  answers.push(confirm(LARGE_BATCH));
  await delay(GATHER_MS);
  proxy.release();
  await Promise.all(answers);
}

/** Returns the transactions that book payments while `act` runs. */
async function batchesOf(proxy: CountingProxy, act: () => Promise<void>): Promise<CountedTransaction[]> {
  const before = proxy.transactions.length;
  await act();
  return proxy.transactions.slice(before).filter(({ texts }) => texts.some((text) => BOOKS_PAYMENTS.test(text)));
}

const BOOKS_PAYMENTS = /insert into ledger\.payment_booking/;

function budgetOf(confirmations: number, { texts, roundTrips }: CountedTransaction): BatchBudget {
  return { confirmations, statements: texts.length, roundTrips };
}

/** Returns a function that confirms a number of payments at once, each over an HTTP connection of its own. */
function confirmer(connections: readonly HttpConnection[], host: string, key: LenderKey, loans: Loans): Confirm {
  const signer = { apiKeyId: key.apiKeyId, key: signingKey(key.hmacSecret) };
  const nextPayment = paymentSeries(loansOf({ ...loans, lenderCodes: [key.lenderCode] }), "budget");
  const free = [...connections];

  async function confirmOne(): Promise<void> {
    const connection = free.pop();
    if (!connection) throw new Error("There are more confirmations at once than connections.");
    const payment = nextPayment();
    const nowMs = Date.now();
    const request = signedPost(signer, host, confirmPath(payment.loan), confirmBody(payment, nowMs), nowMs);
    const answer: HttpAnswer = await connection.send(request);
    free.push(connection);
    if (answer.status !== 200) throw new Error(`A confirmation was answered with ${answer.status}: ${answer.body}`);
  }

  return async (count) => {
    await Promise.all(Array.from({ length: count }, confirmOne));
  };
}

async function withinReason(isTrue: () => boolean): Promise<void> {
  const deadline = performance.now() + HELD_WITHIN_MS;
  while (!isTrue() && performance.now() < deadline) await delay(POLL_MS);
}
