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

// FUZZ_REQUESTS=50000 FUZZ_SEED=7 vitest run rest/fuzz: a longer run, or the same again. Each is sent three times or so.
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 750);
const SEED = Number(process.env["FUZZ_SEED"] ?? seedOfRun());
/** So many are drawn, sent and sent again before the next: what is signed is taken for five minutes. */
const IN_A_ROUND = 1_000;
const AT_ONCE = 24;
const QUIET_MS = 500;
const MAX_GROWTH_BYTES = 48 * 1_024 * 1_024;

const DELIVERIES = "/api/v1/partner/webhooks/deliveries";

type Lender = Awaited<ReturnType<typeof aLender>>;

let service: TestService;
let lender: Lender;
let known: Known;
/** Where requests are sent in turn. A long run has a process that only serves beside this one: its loop is watched. */
let urls: string[];
let loop: LoopStall | undefined;
let sent = 0;
const done = nothingDone();

beforeAll(async () => {
  service = await startTestService({ works: false });
  lender = await aLender(service);
  const loans = ["LN-1", "LN-2", "LN/3 ü", "LN-4", "LN-5"];
  note(done, await lender.importCases(loans.map((loan) => aRow(loan, { outstandingAmount: 1_000_000 }))));
  const { body } = await lender.call<{ deliveries: { eventId: string }[] }>("GET", `${DELIVERIES}?limit=3`);
  const replay = await lender.call("POST", `${DELIVERIES}/replay`, { loan: "LN-5" });
  note(done, replay);
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
    parameters: { loan: loans, eventId: eventIds, replayId: [String(replay.body["replayId"])] },
  };
});

test(`${REQUESTS} odd requests: no fault of ours, no word too many, nothing changed by what is refused`, async () => {
  const seen = new Map<string, number>();
  const heaps: number[] = [];
  let drawn = 0;
  while (drawn < REQUESTS) {
    const count = Math.min(IN_A_ROUND, REQUESTS - drawn);
    const requests = Array.from({ length: count }, (_, index) => oddRequest(seededRandom(SEED + drawn + index), known));
    const heard = await sendAll(requests);
    expect(heard.flatMap(faultsOf), `FUZZ_SEED=${SEED}`).toEqual([]);
    for (const { status, code } of heard) seen.set(`${status} ${code}`, (seen.get(`${status} ${code}`) ?? 0) + 1);
    await expectNoChange(heard.filter((one) => !mayChange(one)).map(({ request }) => request));
    heaps.push(usedHeap());
    drawn += count;
  }
  report(seen, heaps, await loop?.slowestMs());
  expect(await storedCounts()).toEqual(countsOf(done));
  expect(await verifyBooks(service.app.database.em(), { now: new Date() })).toMatchObject({ ok: true });
  expect(await lender.health()).toMatchObject({ status: 200 });
  expect(Math.max(...heaps) - heaps[0]!).toBeLessThan(MAX_GROWTH_BYTES);
}, 7_200_000);

/** What came back for a request; status 0 for nothing. */
interface Heard {
  readonly request: OddRequest;
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
  readonly body: Record<string, unknown>;
  readonly code: string;
}

async function sendAll(requests: readonly OddRequest[]): Promise<Heard[]> {
  sent += requests.length;
  const heard: Heard[] = [];
  const left = requests.map((request, index) => ({ request, index }));
  async function sendSome(): Promise<void> {
    for (let next = left.pop(); next; next = left.pop()) heard[next.index] = await send(next.request, next.index);
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
  for (const one of heard) note(done, one);
  return heard;
}

/** Every third one that can goes out as an HTTP client sends it, over a connection that stays; the others byte by byte. */
async function send(request: OddRequest, index: number): Promise<Heard> {
  if (index % 3 > 0 || !request.isWhole || request.method === "HEAD")
    return heardIn(request, await sendBytes(request, urls[index % urls.length]!));
  try {
    const { status, headers, rawBody } = await lender.call(request.method, request.path, request.body);
    return heardAs(request, status, headers["content-type"], rawBody);
  } catch (error) {
    return heardAs(request, 0, undefined, (error as Error).message);
  }
}

/** Whoever sends half a request says after a while that no more will come. */
function sendBytes({ bytes, isWhole }: OddRequest, url: string): Promise<Buffer> {
  const { hostname, port } = new URL(url);
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    if (!isWhole) socket.setTimeout(QUIET_MS, () => socket.end());
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => {}).on("close", () => resolve(Buffer.concat(chunks)));
  });
}

function heardIn(request: OddRequest, bytes: Buffer): Heard {
  const text = bytes.toString("latin1").replace(/^(HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n)+/, "");
  const [, status = "0", head = "", rest = ""] = /^HTTP\/1\.1 (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n(.*)$/s.exec(text) ?? [];
  const [, length] = /^content-length: (\d+)/im.exec(head) ?? [];
  const body = Buffer.from(rest, "latin1").subarray(0, length === undefined ? undefined : Number(length));
  return heardAs(request, Number(status), /^content-type: (.*?)\r?$/im.exec(head)?.[1], body.toString());
}

function heardAs(request: OddRequest, status: number, type: string | undefined, text: string): Heard {
  const body = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
  return { request, status, type, text, body, code: typeof body["code"] === "string" ? body["code"] : "" };
}

/** What must not be, in words that lead back to the request. */
function faultsOf(heard: Heard): string[] {
  const { request, status, type, text, body, code } = heard;
  const faults: string[] = [];
  if (status === 0 && request.isWhole) faults.push("no answer");
  if (status >= 500) faults.push("a fault of ours");
  if (/node_modules|\n\s+at |\.ts:\d|[Ee]rror: |SQLSTATE|relation "/.test(text)) faults.push("shows what is inside");
  if (status < 300 && hasNameTwice(request.body.toString())) faults.push("takes one of two fields with one name");
  const isProblem = (PROBLEM_CODES as readonly string[]).includes(code) && body["status"] === status;
  if (status >= 400 && request.method !== "HEAD" && (!isProblem || type !== "application/problem+json")) {
    faults.push("no problem of the contract");
  }
  const asked = JSON.stringify(request.bytes.toString("latin1").slice(0, 2_000));
  return faults.map((fault) => `${fault}: ${status} ${text.slice(0, 500)} for ${asked}`);
}

function mayChange({ request, status }: Heard): boolean {
  return request.method === "POST" && status >= 200 && status < 300;
}

/**
 * Sends again what was refused. Some are accepted now, for a loan that another request has made meanwhile; without them
 * nothing may change.
 */
async function expectNoChange(refused: readonly OddRequest[]): Promise<void> {
  let requests = refused;
  let before = {};
  for (let areNew = true; areNew;) {
    before = await changedRows();
    const heard = await sendAll(requests);
    expect(heard.flatMap(faultsOf), `FUZZ_SEED=${SEED}`).toEqual([]);
    areNew = heard.some(mayChange);
    requests = heard.filter((one) => !mayChange(one)).map(({ request }) => request);
  }
  expect(await changedRows()).toEqual(before);
}

/** All rows but the records of imports that wrote nothing: a refused request that is signed anew leaves another one. */
async function changedRows(): Promise<Rows> {
  const rows = await allRows(service.app);
  return { ...rows, "cases.import_run": appliedImports(rows) };
}

function appliedImports(rows: Rows): string[] {
  return (rows["cases.import_run"] ?? []).filter((row) => row.includes('"applied": true'));
}

/** What answers have told of: one that was lost is told of when its request comes again. */
interface Done {
  readonly bookings: Set<string>;
  readonly imports: Set<string>;
  readonly cases: Set<string>;
  readonly replays: Set<string>;
}

function nothingDone(): Done {
  return { bookings: new Set(), imports: new Set(), cases: new Set(), replays: new Set() };
}

function note(done: Done, { body }: Pick<Heard, "body">): void {
  const { caseId, reference } = (body["original"] ?? body) as { caseId?: string; reference?: string };
  if (caseId !== undefined && reference !== undefined) done.bookings.add(`${caseId} ${reference}`);
  if (typeof body["replayId"] === "string") done.replays.add(body["replayId"]);
  if (typeof body["importId"] !== "string") return;
  done.imports.add(body["importId"]);
  for (const row of body["results"] as { caseId?: string }[]) if (row.caseId !== undefined) done.cases.add(row.caseId);
}

function countsOf(done: Done): Record<string, number> {
  return Object.fromEntries(Object.entries(done).map(([name, some]: [string, Set<string>]) => [name, some.size]));
}

async function storedCounts(): Promise<Record<keyof Done, number>> {
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

/** For whoever asked for a run of their own. */
function report(seen: ReadonlyMap<string, number>, heaps: readonly number[], slowestMs = 0): void {
  if (process.env["FUZZ_REQUESTS"] === undefined) return;
  const mebibytes = heaps.map((heap) => (heap / 1_048_576).toFixed(0));
  const lines = [...seen].toSorted(([a], [b]) => a.localeCompare(b)).map(([name, count]) => `${count} × ${name}`);
  process.stdout.write(
    `seed ${SEED}, ${sent} sent\n${lines.join("\n")}\nMiB of heap after each round: ${mebibytes.join(" ")}\n` +
      `slowest stall of the serving process's event loop: ${slowestMs.toFixed(0)} ms\n`,
  );
}
