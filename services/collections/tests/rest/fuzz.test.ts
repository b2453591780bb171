import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { verifyBooks } from "@collections/flows";
import { beforeAll, expect, test } from "vitest";
import { PROBLEM_CODES } from "../../src/http/problem.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type LoopStall, watchLoop } from "../fixtures/loop-stall.ts";
import { hasNameTwice } from "../fixtures/odd-json.ts";
import { type Known, type OddRequest, oddRequest } from "./fixtures/odd-requests.ts";
import { startProcess } from "../fixtures/processes.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";
import { allRows, type Rows } from "../fixtures/table-rows.ts";

// `FUZZ_REQUESTS=50000 vitest run rest/fuzz` makes a longer run. With `FUZZ_SEED=7` as well, it repeats the run that
// had this seed. Each request is sent about three times.
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 750);
const SEED = Number(process.env["FUZZ_SEED"] ?? seedOfRun());
/**
 * The number of requests in a round. A round sends all of its requests, and then sends them again. Both must happen
 * within five minutes, because a signature is valid for five minutes.
 */
const IN_A_ROUND = 1_000;
const AT_ONCE = 24;
const QUIET_MS = 500;
/** A request with odd headers may be complete for the server, which must then have time to answer it. */
const QUIET_WITH_HEADERS_MS = 8_000;
const MAX_GROWTH_BYTES = 48 * 1_024 * 1_024;

const DELIVERIES = "/api/v1/partner/webhooks/deliveries";

type Lender = Awaited<ReturnType<typeof aLender>>;

let service: TestService;
let lender: Lender;
let known: Known;
/**
 * The URLs to which requests are sent in turn. A long run also starts a separate server process, so that stalls of its
 * event loop can be measured.
 */
let urls: string[];
let loop: LoopStall | undefined;
let sent = 0;
const done = noEffects();

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  const loans = ["LN-1", "LN-2", "LN/3 ü", "LN-4", "LN-5"];
  recordEffects(done, await lender.importCases(loans.map((loan) => aRow(loan, { outstandingAmount: 1_000_000 }))));
  const { body } = await lender.call<{ deliveries: { eventId: string }[] }>("GET", `${DELIVERIES}?limit=3`);
  const replay = await lender.call("POST", `${DELIVERIES}/replay`, { loan: "LN-5" });
  recordEffects(done, replay);
  const run = await lender.reconcile({ from: "2026-11-01T00:00:00Z", to: "2026-11-30T00:00:00Z", rows: [] });
  const [keyId, secret] = [...lender.secrets][0]!;
  const eventIds = body.deliveries.map(({ eventId }) => eventId);
  urls = [service.url];
  if (process.env["FUZZ_REQUESTS"] !== undefined) {
    const { url } = await startProcess({ DATABASE_URL: service.databaseUrl, ROLE: "server", RATE_LIMITS: "off" });
    urls.push(url);
    loop = await watchLoop(`${url}/metrics`);
  }
  known = {
    keyId,
    secret,
    parameters: {
      loan: loans,
      eventId: eventIds,
      replayId: [String(replay.body["replayId"])],
      runId: [String(run.body["runId"])],
    },
  };
});

test(`${REQUESTS} odd requests cause no 5xx, leak no internals, and change nothing when they are rejected`, async () => {
  const seen = new Map<string, number>();
  const heaps: number[] = [];
  let drawn = 0;
  while (drawn < REQUESTS) {
    const count = Math.min(IN_A_ROUND, REQUESTS - drawn);
    const requests = Array.from({ length: count }, (_, index) => oddRequest(seededRandom(SEED + drawn + index), known));
    const answers = await sendAll(requests);
    expect(answers.flatMap(faultsOf), `FUZZ_SEED=${SEED}`).toEqual([]);
    for (const { status, code } of answers) seen.set(`${status} ${code}`, (seen.get(`${status} ${code}`) ?? 0) + 1);
    await expectNoChange(answers.filter((one) => !mayChange(one)).map(({ request }) => request));
    heaps.push(usedHeap());
    drawn += count;
  }
  report(seen, heaps, await loop?.slowestMs());
  expect(await storedCounts()).toEqual(countsOf(done));
  expect(await verifyBooks(service.app.database.em(), { now: new Date() })).toMatchObject({ ok: true });
  expect(await lender.health()).toMatchObject({ status: 200 });
  expect(Math.max(...heaps) - heaps[0]!).toBeLessThan(MAX_GROWTH_BYTES);
}, 7_200_000);

/** The answer to a request. Status 0 means that no answer came. */
interface ReceivedAnswer {
  readonly request: OddRequest;
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
  readonly body: Record<string, unknown>;
  readonly code: string;
}

async function sendAll(requests: readonly OddRequest[]): Promise<ReceivedAnswer[]> {
  sent += requests.length;
  const answers: ReceivedAnswer[] = [];
  const left = requests.map((request, index) => ({ request, index }));
  async function sendSome(): Promise<void> {
    for (let next = left.pop(); next; next = left.pop()) answers[next.index] = await send(next.request, next.index);
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
  for (const one of answers) recordEffects(done, one);
  return answers;
}

/** Sends every third complete request with an HTTP client that keeps connections alive, and the others as raw bytes. */
async function send(request: OddRequest, index: number): Promise<ReceivedAnswer> {
  if (index % 3 > 0 || !request.isWhole || request.method === "HEAD")
    return parseAnswer(request, await sendBytes(request, urls[index % urls.length]!));
  try {
    const { status, headers, rawBody } = await lender.call(request.method, request.path, request.body);
    return receivedAnswer(request, status, headers["content-type"], rawBody);
  } catch (error) {
    return receivedAnswer(request, 0, undefined, (error as Error).message);
  }
}

/**
 * Sends raw bytes. After an incomplete request, it half-closes the connection once the server has been silent for a
 * while.
 */
function sendBytes({ method, bytes, isWhole }: OddRequest, url: string): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    if (!isWhole) socket.setTimeout(method === "" ? QUIET_MS : QUIET_WITH_HEADERS_MS, () => socket.end());
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => {}).on("close", () => resolve(Buffer.concat(chunks)));
  });
}

function parseAnswer(request: OddRequest, bytes: Buffer): ReceivedAnswer {
  const text = bytes.toString("latin1").replace(/^(HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n)+/, "");
  const [, status = "0", head = "", rest = ""] = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(text) ?? [];
  const [, length] = /^content-length: (\d+)/im.exec(head) ?? [];
  const body = Buffer.from(rest, "latin1").subarray(0, length === undefined ? undefined : Number(length));
  return receivedAnswer(request, Number(status), /^content-type: (.*?)\r?$/im.exec(head)?.[1], body.toString());
}

function receivedAnswer(request: OddRequest, status: number, type: string | undefined, text: string): ReceivedAnswer {
  const body = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
  return { request, status, type, text, body, code: typeof body["code"] === "string" ? body["code"] : "" };
}

/** Returns what is wrong with an answer. Each fault contains the request that caused it. */
function faultsOf(answer: ReceivedAnswer): string[] {
  const { request, status, type, text, body, code } = answer;
  const faults: string[] = [];
  if (status === 0 && request.isWhole) faults.push("no answer");
  if (status >= 500) faults.push("a server error");
  if (/node_modules|\n\s+at |\.ts:\d|[Ee]rror: |SQLSTATE|relation "/.test(text)) faults.push("leaks internals");
  // A GET ignores its body, so only a POST can accept one.
  if (mayChange(answer) && hasNameTwice(request.body.toString()))
    faults.push("accepts an object with a duplicate field");
  const isProblem = (PROBLEM_CODES as readonly string[]).includes(code) && body["status"] === status;
  if (status >= 400 && request.method !== "HEAD" && (!isProblem || type !== "application/problem+json")) {
    faults.push("is not a problem that the contract lists");
  }
  const shownRequest = JSON.stringify(request.bytes.toString("latin1").slice(0, 2_000));
  return faults.map((fault) => `${fault}: ${status} ${text.slice(0, 500)} for ${shownRequest}`);
}

function mayChange({ request, status }: ReceivedAnswer): boolean {
  return request.method === "POST" && isSuccess(status);
}

/** A request that got no answer has the status 0. */
function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * Sends the rejected requests again and again, until all of them are rejected. Then expects that this last pass changed
 * nothing. A later pass can accept a request if another request has created its loan meanwhile.
 */
async function expectNoChange(refused: readonly OddRequest[]): Promise<void> {
  let requests = refused;
  let before = {};
  for (let areNew = true; areNew;) {
    before = await changedRows();
    const answers = await sendAll(requests);
    expect(answers.flatMap(faultsOf), `FUZZ_SEED=${SEED}`).toEqual([]);
    areNew = answers.some(mayChange);
    requests = answers.filter((one) => !mayChange(one)).map(({ request }) => request);
  }
  expect(await changedRows()).toEqual(before);
}

/**
 * Returns all rows, except the records of imports that applied nothing. Such a record is added whenever a rejected
 * import is sent with a new signature.
 */
async function changedRows(): Promise<Rows> {
  const rows = await allRows(service.app);
  return { ...rows, "cases.import_run": appliedImports(rows) };
}

function appliedImports(rows: Rows): string[] {
  return (rows["cases.import_run"] ?? []).filter((row) => row.includes('"applied": true'));
}

/** The effects that answers have reported. If an answer was lost, the answer to its repeat reports the same effects. */
interface ReportedEffects {
  readonly bookings: Set<string>;
  readonly imports: Set<string>;
  readonly cases: Set<string>;
  readonly replays: Set<string>;
}

function noEffects(): ReportedEffects {
  return { bookings: new Set(), imports: new Set(), cases: new Set(), replays: new Set() };
}

function recordEffects(done: ReportedEffects, { body }: Pick<ReceivedAnswer, "body">): void {
  const { caseId, reference } = (body["original"] ?? body) as { caseId?: string; reference?: string };
  if (caseId !== undefined && reference !== undefined) done.bookings.add(`${caseId} ${reference}`);
  if (typeof body["replayId"] === "string") done.replays.add(body["replayId"]);
  if (typeof body["importId"] !== "string") return;
  done.imports.add(body["importId"]);
  for (const row of body["results"] as { caseId?: string }[]) if (row.caseId !== undefined) done.cases.add(row.caseId);
}

function countsOf(done: ReportedEffects): Record<string, number> {
  return Object.fromEntries(Object.entries(done).map(([name, some]: [string, Set<string>]) => [name, some.size]));
}

async function storedCounts(): Promise<Record<keyof ReportedEffects, number>> {
  const rows = await allRows(service.app);
  const count = (table: string) => rows[table]?.length ?? 0;
  return {
    bookings: count("ledger.payment_booking"),
    imports: appliedImports(rows).length,
    cases: count("cases.collection_case"),
    replays: count("webhooks.replay"),
  };
}

function usedHeap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

/** Prints a summary if FUZZ_REQUESTS is set. */
function report(seen: ReadonlyMap<string, number>, heaps: readonly number[], slowestMs = 0): void {
  if (process.env["FUZZ_REQUESTS"] === undefined) return;
  const mebibytes = heaps.map((heap) => (heap / 1_048_576).toFixed(0));
  const lines = [...seen].toSorted(([a], [b]) => a.localeCompare(b)).map(([name, count]) => `${count} × ${name}`);
  process.stdout.write(
    `seed ${SEED}, ${sent} sent\n${lines.join("\n")}\nMiB of heap after each round: ${mebibytes.join(" ")}\n` +
      `slowest stall of the serving process's event loop: ${slowestMs.toFixed(0)} ms\n`,
  );
}
