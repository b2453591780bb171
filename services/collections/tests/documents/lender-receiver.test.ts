import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LenderTwin } from "@collections/lender-twin";
import { sign } from "@collections/signing";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";

const RECEIVER = fileURLToPath(new URL("../../../../docs/lenders/samples/node/receiver.mjs", import.meta.url));
const CALLBACK_PATH = "/hooks/collections";
const LOANS = ["LN-1", "LN-2", "MUM/2023/00123"];
const PAYMENTS = 6;
/** The payments clear each loan. Then the last payment is reversed, which reopens the case. */
const END = `#${PAYMENTS + 4} in_progress, owes 100`;
const UNREACHABLE = "http://127.0.0.1:1";

let service: TestService;
let lender: LenderTwin;
let keyId: string;
let secret: string;
/** For each loan, the bodies of its events in the order of their sequence numbers. */
let eventsByLoan: Map<string, string[]>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  [[keyId, secret] = ["", ""]] = [...lender.secrets];
  await lender.importCases(LOANS.map((loan) => aRow(loan, { outstandingAmount: 100 * PAYMENTS })));
  for (const loan of LOANS) {
    for (let number = 1; number <= PAYMENTS; number += 1) {
      const payment = { amount: 100, reference: `pay_${number}`, paidAt: new Date().toISOString(), mode: "upi" };
      await lender.confirm(loan, payment);
    }
    const returned = { reversedAt: new Date().toISOString(), reason: "bounced" };
    await lender.reverse(loan, { reference: `pay_${PAYMENTS}`, reversalReference: "rev_1", ...returned });
  }
  const path = "/api/v1/partner/webhooks/deliveries";
  const { body } = await lender.call<{ deliveries: { eventId: string }[] }>("GET", path);
  const details = body.deliveries.map(({ eventId }) => lender.call<{ body: string }>("GET", `${path}/${eventId}`));
  const bodies = (await Promise.all(details)).map((answer) => answer.body.body).toSorted(bySequence);
  eventsByLoan = Map.groupBy(bodies, (body) => eventOf(body).sourceLoanNumber);
});

test("the sample receiver reaches the case's state despite repeated, lost and reordered events, and never returns to an older state", async () => {
  const seed = seedOfRun();
  const random = seededRandom(seed);
  const receiver = await startReceiver();
  // Always send the last event of each loan: without it the receiver cannot know that the case has changed.
  const sent = [...eventsByLoan.values()].flatMap((bodies) => [
    ...bodies.slice(0, -1).filter(() => random() < 0.6),
    ...bodies.filter(() => random() < 0.3),
    bodies.at(-1)!,
  ]);
  const shuffled = sent.map((body) => ({ body, at: random() })).toSorted((a, b) => a.at - b.at);
  for (const { body } of shuffled) expect(await receiver.send(body)).toBe(200);

  for (const loan of LOANS) {
    await expect.poll(() => receiver.states(loan).at(-1), { message: `SEED=${seed}` }).toBe(END);
    const numbers = receiver.states(loan).map((state) => Number(/\d+/.exec(state)![0]));
    expect(numbers, `SEED=${seed}`).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  }
});

test("the sample receiver applies events in order without reading the case", async () => {
  const receiver = await startReceiver({ BASE_URL: UNREACHABLE });
  const [loan, bodies] = [...eventsByLoan][0]!;
  for (const body of bodies) expect(await receiver.send(body)).toBe(200);
  await expect
    .poll(() => receiver.states(loan))
    .toEqual([
      "#1 new, owes 600",
      ...[500, 400, 300, 200, 100].map((owed, index) => `#${index + 2} in_progress, owes ${owed}`),
      "#7 collected, owes 0",
      "#8 collected, owes 0",
      "#9 in_progress, owes 100",
      END,
    ]);
});

test("the sample receiver applies an acknowledged event after it was killed and restarted", async () => {
  const [loan, bodies] = [...eventsByLoan][1]!;
  const DATABASE = join(await aFolder(), "receiver.db");
  // The receiver gets only event 5. It cannot fetch the missing events 1 to 4, because it cannot reach the service.
  const first = await startReceiver({ BASE_URL: UNREACHABLE, DATABASE });
  expect(await first.send(bodies[4]!)).toBe(200);
  await first.kill();
  expect(first.states(loan)).toEqual([]);
  const second = await startReceiver({ DATABASE });
  await expect.poll(() => second.states(loan)).toEqual([END]);
});

test("the sample receiver rejects wrong signatures and old timestamps, and accepts unknown kinds", async () => {
  const receiver = await startReceiver();
  const [body = ""] = eventsByLoan.get("LN-1")!;
  expect(await receiver.send(body, { signature: "0".repeat(64) })).toBe(401);
  expect(await receiver.send(body, { signature: "" })).toBe(401);
  expect(await receiver.send(body, { keyId: "lk_unknown" })).toBe(401);
  expect(await receiver.send(body, { sentAtMs: Date.now() - 301_000 })).toBe(401);
  expect(await receiver.send(body, { sentAtMs: Date.now() + 310_000 })).toBe(401);
  const unknown = { ...eventOf(body), eventId: `evt_${randomUUID()}`, kind: "case.painted" };
  expect(await receiver.send(JSON.stringify(unknown))).toBe(200);
  expect(await receiver.send("{")).toBe(500);
  await expect.poll(() => receiver.states("LN-1")).toEqual(["#1 new, owes 600"]);
});

interface Receiver {
  /** Posts an event as the service does and returns the status. */
  send(body: string, wrong?: { signature?: string; keyId?: string; sentAtMs?: number }): Promise<number>;
  /** The states of a loan that the receiver has printed. */
  states(loan: string): string[];
  kill(): Promise<void>;
}

async function startReceiver(settings: Record<string, string> = {}): Promise<Receiver> {
  const child = spawn(process.execPath, [RECEIVER], {
    env: {
      BASE_URL: service.url,
      API_KEY_ID: keyId,
      HMAC_SECRETS: JSON.stringify({ [keyId]: secret }),
      DATABASE: join(await aFolder(), "receiver.db"),
      PORT: "0",
      ...settings,
    },
    // The receiver logs errors about requests that are wrong on purpose.
    stdio: ["ignore", "pipe", "ignore"],
  });
  afterFile(() => kill(child));
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      const ready = /listening on (\S+)\n/.exec(output);
      if (ready) resolve(ready[1]!);
    });
    child.once("exit", (code) => reject(new Error(`The receiver exited with ${code} before it was ready.`)));
  });
  return {
    kill: () => kill(child),
    states: (loan) =>
      output.split("\n").flatMap((line) => (line.startsWith(`${loan} `) ? [line.slice(loan.length + 1)] : [])),
    async send(body, { signature, keyId: named = keyId, sentAtMs = Date.now() } = {}) {
      const timestamp = String(sentAtMs);
      const request = { secret, method: "POST", path: CALLBACK_PATH, timestamp, body };
      const headers = {
        "Content-Type": "application/json",
        "X-Service-Key-Id": named,
        "X-Service-Timestamp": timestamp,
        "X-Service-Signature": signature ?? sign(request),
      };
      const answer = await fetch(url + CALLBACK_PATH, { method: "POST", headers, body });
      return answer.status;
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lender-receiver-"));
  afterFile(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function eventOf(body: string): { sourceLoanNumber: string; sequence: number } {
  return JSON.parse(body) as { sourceLoanNumber: string; sequence: number };
}

function bySequence(a: string, b: string): number {
  return eventOf(a).sequence - eventOf(b).sequence;
}
