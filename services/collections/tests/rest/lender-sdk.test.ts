import { onboardLender } from "@collections/flows";
import {
  type CapturedPayment,
  type CaseRow,
  CollectionsClient,
  createReceiver,
  expressHandler,
  type LoanUpdate,
  minorUnits,
  postgresStorage,
  type ReceivedReport,
  type Receiver,
  ReferenceConflictError,
  ReversalConflictError,
} from "@collections/lender-sdk";
import { afterFile, emptyDatabase } from "@collections/testing";
import express from "express";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool, type PoolClient } from "pg";
import { beforeAll, expect, test } from "vitest";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { webhookRows } from "../fixtures/webhook-rows.ts";

const LOANS = ["LN-1", "MUM/2023/00123", "LN ü", "LN-4", "LN-5"];
const PAYMENTS_PER_LOAN = 6;
const RECEIVER_SCHEMA = await readFile(new URL(import.meta.resolve("@collections/lender-sdk/receiver.sql")), "utf8");

let service: TestService;
let lender: Awaited<ReturnType<typeof aLenderByTheSdk>>;

beforeAll(async () => {
  service = await startTestService();
  lender = await aLenderByTheSdk(service);
});

/** Creates a lender that uses the SDK: two receivers behind one callback URL share the lender's database. */
async function aLenderByTheSdk({ app, url }: TestService) {
  const pool = new Pool({ connectionString: (await emptyDatabase()).url, max: 10 });
  afterFile(() => pool.end());
  await pool.query(RECEIVER_SCHEMA);
  await pool.query("create table loan (number text primary key, sequence int, status text, paid text, owed text)");

  const receivers: Receiver[] = [];
  let deliveries = 0;
  const callback = express().post("/hooks/collections", (request, response) =>
    expressHandler(receivers[deliveries++ % receivers.length]!)(request, response),
  );
  const callbackUrl = `${await listening(callback)}/hooks/collections`;
  const onboarding = { vault: app.vault, allow: app.config.outboundAllow, environment: app.config.environment };
  const { lender, apiKeyId, hmacSecret } = await onboardLender(app.database.em(), onboarding, {
    code: "SDK",
    name: "Acme Finance",
    currency: "INR",
    callbackUrl,
  });

  const network = { losesAnswers: false };
  const client = new CollectionsClient({
    baseUrl: url,
    apiKeyId,
    hmacSecret,
    pauses: { firstPauseMs: 10, longestPauseMs: 50 },
    fetch: losingAnswers(network),
  });
  const reports: ReceivedReport[] = [];
  const database = { isDown: (): boolean => false };
  for (let process = 0; process < 2; process += 1) {
    receivers.push(
      createReceiver({
        secrets: { [apiKeyId]: hmacSecret },
        storage: postgresStorage<PoolClient>(pool),
        client,
        apply: async (update, tx) => {
          await store(update, tx);
          if (database.isDown()) throw new Error("The lender's database is down.");
        },
        onReceived: (report) => reports.push(report),
        onError: () => {},
      }),
    );
  }
  return { code: lender.code, pool, client, network, database, reports };
}

async function store({ state }: LoanUpdate, tx: PoolClient): Promise<void> {
  await tx.query(
    `insert into loan values ($1, $2, $3, $4, $5) on conflict (number) do update
     set (sequence, status, paid, owed) = (excluded.sequence, excluded.status, excluded.paid, excluded.owed)`,
    [state.sourceLoanNumber, state.sequence, state.status, state.totalCollected, state.outstandingAfter],
  );
}

/** Returns a `fetch` that loses the first answer to each request, after the service has processed the request. */
function losingAnswers(network: { losesAnswers: boolean }): typeof fetch {
  const seen = new Set<string>();
  return async (input, init) => {
    const response = await fetch(input, init);
    const request = `${init?.method} ${(input as URL).href} ${init?.body as string}`;
    if (!network.losesAnswers || seen.has(request)) return response;
    seen.add(request);
    await response.text();
    throw new TypeError("fetch failed", { cause: new Error("The answer was lost.") });
  };
}

async function listening(app: express.Express): Promise<string> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function aRow(sourceLoanNumber: string): CaseRow {
  return { sourceLoanNumber, borrowerName: "Ravi", borrowerPhone: "+919800000001", outstandingAmount: "5000.10" };
}

function aPayment(loan: string, number: number): CapturedPayment {
  return { amount: `${number}.05`, reference: `${loan} ${number}`, paidAt: "2026-11-20T09:40:55Z", mode: "upi" };
}

test("the SDK's client authenticates, and its receiver accepts a signed ping", async () => {
  expect(await lender.client.health()).toMatchObject({ ok: true, lenderCode: lender.code });
  expect(await lender.client.testWebhook()).toMatchObject({ delivered: true, response: { status: 200 } });
  expect(lender.reports).toMatchObject([{ outcome: "ping" }]);
});

test("the SDK makes a dry run of an import, then the import, and reads the case back", async () => {
  const rows = LOANS.map(aRow);
  expect(await lender.client.rehearseImport(rows)).toMatchObject({ dryRun: true, summary: { created: LOANS.length } });
  const made = await lender.client.importCases(rows);
  expect(made).toMatchObject({ success: true, summary: { created: LOANS.length } });
  expect(made.results[1]).toMatchObject({ outcome: "created", outstandingAmount: "5000.1" });

  const read = await lender.client.getCase(LOANS[1]!);
  expect(read).toMatchObject({ sourceLoanNumber: LOANS[1], outstandingAfter: "5000.1", etag: '"1"' });
  expect(await lender.client.getCaseIfChanged(LOANS[1]!, read.etag)).toBeUndefined();
});

test("payments are booked exactly once although their first answers are lost and the receiver fails now and then", async () => {
  lender.network.losesAnswers = true;
  let applied = 0;
  // Every third event fails at first, so that later events of its loan are received before it.
  lender.database.isDown = () => applied++ % 3 === 2;
  const payments = LOANS.flatMap((loan) =>
    Array.from({ length: PAYMENTS_PER_LOAN }, (_, index) => ({ loan, payment: aPayment(loan, index + 1) })),
  );
  const bookings = await Promise.all(payments.map(({ loan, payment }) => lender.client.confirmPayment(loan, payment)));
  expect(bookings.every(({ success, repeated }) => success && repeated)).toBe(true);
  lender.network.losesAnswers = false;

  const collected =
    payments.reduce((sum, { payment }) => sum + minorUnits(payment.amount, 2), 0n) / BigInt(LOANS.length);
  for (const loan of LOANS) {
    const { totalCollected, outstandingAfter } = await lender.client.getCase(loan);
    expect(minorUnits(totalCollected, 2)).toBe(collected);
    expect(minorUnits(outstandingAfter, 2)).toBe(500_010n - collected);
  }
});

test("the SDK iterates over the payments and the cases, also if the first answers are lost", async () => {
  lender.network.losesAnswers = true;
  const payments = await Array.fromAsync(lender.client.payments({ from: "2026-11-20T09:40:55Z", loan: "LN ü" }));
  const cases = await Array.fromAsync(lender.client.cases({ status: ["in_progress", "collected"] }));
  lender.network.losesAnswers = false;
  const booked = payments.map(
    ({ sourceLoanNumber, amount, reference }) => `${sourceLoanNumber}: ${amount} ${reference}`,
  );
  const expected = Array.from({ length: PAYMENTS_PER_LOAN }, (_, index) => aPayment("LN ü", index + 1));
  expect(booked.toSorted()).toEqual(expected.map(({ amount, reference }) => `LN ü: ${amount} ${reference}`));
  for (const listed of cases) {
    expect(await lender.client.getCase(listed.sourceLoanNumber)).toMatchObject({ ...listed });
  }
  expect(cases.map(({ sourceLoanNumber }) => sourceLoanNumber)).toEqual(LOANS);
});

test("the SDK throws ReferenceConflictError for a reference that was booked with another amount", async () => {
  const call = lender.client.confirmPayment("LN-1", { ...aPayment("LN-1", 1), amount: "77.00" });
  const error = await call.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ReferenceConflictError);
  expect(error).toMatchObject({ differences: ["amount"], original: { amount: "1.05", reference: "LN-1 1" } });
});

test("after replays in any order, the lender's database has the state of the service's cases", async () => {
  const rows = webhookRows(service.databaseUrl);
  await rows.settled([lender.code]);
  lender.database.isDown = () => false;
  const replays = [
    await lender.client.replayDeliveries(),
    await lender.client.replayDeliveries({ state: "delivered" }),
  ];
  await rows.settled([lender.code]);
  for (const { replayId } of replays) {
    await expect.poll(async () => (await lender.client.getReplay(replayId)).state).toBe("done");
  }

  for (const loan of LOANS) {
    const { sequence, status, totalCollected: paid, outstandingAfter: owed } = await lender.client.getCase(loan);
    const { rows } = await lender.pool.query("select * from loan where number = $1", [loan]);
    expect(rows).toEqual([{ number: loan, sequence, status, paid, owed }]);
  }
  const outcomes = new Set(lender.reports.map(({ outcome }) => outcome));
  expect([...outcomes].toSorted()).toEqual(["applied", "duplicate", "healed", "late", "ping"]);
});

test("the SDK lists every event as delivered in the end, with all of its attempts", async () => {
  const deliveries = await Array.fromAsync(lender.client.eachDelivery({ limit: 7 }));
  expect(deliveries).toHaveLength(LOANS.length * (1 + PAYMENTS_PER_LOAN));
  expect(deliveries.filter(({ state }) => state !== "delivered")).toEqual([]);
  const { eventId } = deliveries[0]!;
  const { log, body } = await lender.client.getDelivery(eventId);
  expect(log.length).toBeGreaterThan(1);
  expect(log.at(-1)).toMatchObject({ outcome: "delivered", status: 200, error: null });
  expect(JSON.parse(body)).toMatchObject({ eventId });
  expect(await lender.client.countReplay({ state: "delivered" })).toMatchObject({ count: deliveries.length });
  expect(await lender.client.replayDelivery(eventId)).toMatchObject({ state: "waiting" });
});

test("the SDK reverses a payment once, and throws ReversalConflictError for another reversal of the same reference", async () => {
  await lender.client.importCases([aRow("LN-REVERSED")]);
  await lender.client.confirmPayment("LN-REVERSED", { ...aPayment("LN-REVERSED", 1), amount: "100.10" });
  const reference = aPayment("LN-REVERSED", 1).reference;
  const returned = { reference, reversalReference: "rev_1", reversedAt: new Date(), reason: "bounced" } as const;
  const first = await lender.client.reversePayment("LN-REVERSED", { ...returned, amount: "0.10" });
  expect(first).toMatchObject({ amount: "0.1", totalCollected: "100", totalReversed: "0.1", repeated: false });
  const again = await lender.client.reversePayment("LN-REVERSED", { ...returned, amount: "0.10" });
  expect(again).toMatchObject({ sequence: first.sequence, repeated: true });
  const call = lender.client.reversePayment("LN-REVERSED", { ...returned, amount: "0.20" });
  const error = await call.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ReversalConflictError);
  expect(error).toMatchObject({ differences: ["amount"], original: { amount: "0.1", reason: "bounced" } });
});
