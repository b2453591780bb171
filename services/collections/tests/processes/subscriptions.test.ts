import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { type ServiceProcess, startProcess } from "../fixtures/processes.ts";

/** `SUBSCRIPTIONS=300 vitest run processes/subscriptions` measures the figures in docs/decisions/0021. */
const SUBSCRIPTIONS = Number(process.env["SUBSCRIPTIONS"] ?? 40);
const PEOPLE = 20;
const ROUNDS = 16;
/** The number of rounds before memory is measured. These rounds fill caches and pools. */
const WARM_UP_ROUNDS = 8;
/**
 * The maximum number of bytes that a closed subscription may keep on the heap. A subscription that leaks keeps about
 * 28,000.
 */
const MAX_BYTES_KEPT = 10_000;
const WATCH = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { id status } }";
const FINAL = new Set(["PAID", "UNAVAILABLE", "SUPERSEDED"]);

interface Watcher {
  readonly loan: string;
  readonly linkId: string;
  readonly accessToken: string;
  /** The ids of all links that the watcher got, and the statuses without consecutive repetitions. */
  readonly ids: Set<string>;
  readonly statuses: string[];
  /** The number of streams that broke before the link reached its final status. */
  breaks: number;
}

let setUpService: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let watchers: Watcher[];
let processes: ServiceProcess[];
let settings: Record<string, string>;

beforeAll(async () => {
  setUpService = await startTestService({ hasWorker: false });
  lender = await aLender(setUpService);
  watchers = await requestedLinks();
  settings = { DATABASE_URL: setUpService.databaseUrl, RATE_LIMITS: "off", LOG_LEVEL: "error" };
  const withInspector = { NODE_OPTIONS: "--inspect=127.0.0.1:0" };
  processes = await Promise.all(
    [withInspector, {}].map((more) => startProcess({ ...settings, ...more, ROLE: "server" })),
  );
});

// Only Linux lets a test see the open files of another process.
test.runIf(process.platform === "linux")(
  "opened and closed subscriptions leak no connection and no memory",
  async () => {
    const [one] = processes as [ServiceProcess];
    const heap = await openHeap(one);
    const files: number[] = [];
    const liveBytes: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const streams = await atMost(30, watchers, ({ accessToken, linkId }) =>
        openStream(new AppClient(one.url, accessToken), linkId),
      );
      await Promise.all(streams.map((stream) => stream.return(undefined)));
      // Wait until the service has noticed the closed streams: then each person can open 20 streams again.
      await expect.poll(() => openFiles(one.pid)).toBeLessThan(60);
      files.push(openFiles(one.pid));
      liveBytes.push(await heap.liveBytes());
    }
    heap.close();
    const kept = (liveBytes.at(-1)! - liveBytes[WARM_UP_ROUNDS - 1]!) / ((ROUNDS - WARM_UP_ROUNDS) * SUBSCRIPTIONS);
    const kilobytes = liveBytes.map((bytes) => Math.round(bytes / 1_000)).join(" ");
    process.stdout.write(`open files and live kB after each round: ${files.join(" ")}; ${kilobytes}\n`);
    expect(kept, `live kB after each round: ${kilobytes}`).toBeLessThan(MAX_BYTES_KEPT);
  },
);

test(`${SUBSCRIPTIONS} subscriptions over two processes each get all updates of their own link`, async () => {
  const [one, two] = processes as [ServiceProcess, ServiceProcess];
  const watching = watchers.map((watcher, index) => watch(watcher, index % 2 === 0 ? [one, two] : [two, one]));
  await waitUntilAllSee("REQUESTED", watchers);

  // The jobs run in a third process, so that every change happens in a process that has no subscriptions.
  const worker = await startProcess({ ...settings, ROLE: "worker" });
  await waitUntilAllSee("MINTED", watchers);

  // Cut the connections on which the processes listen for notifications, so that no notification arrives for a second.
  const { rowCount } = await setUpService.app.database.pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'collections-signals' and datname = current_database()",
  );
  expect(rowCount).toBeGreaterThanOrEqual(3);
  const [paidFirst, paidLater] = [
    watchers.filter((_, index) => index % 3 === 0),
    watchers.filter((_, index) => index % 3 !== 0),
  ];
  await pay(paidFirst, one);
  await waitUntilAllSee("PAID", paidFirst);

  // Kill one of the two processes. Its clients subscribe again at the other.
  two.send("SIGKILL");
  await two.ended;
  await pay(paidLater, one);
  await waitUntilAllSee("PAID", paidLater);
  await Promise.all(watching);

  expect(watchers.filter(({ ids, linkId }) => ids.size !== 1 || !ids.has(linkId))).toEqual([]);
  expect(watchers.filter(({ statuses }) => statuses.join() !== "REQUESTED,MINTED,PAID")).toEqual([]);
  const broken = watchers.filter(({ breaks }) => breaks > 0);
  expect(broken.length).toBeGreaterThan(0);
  expect(broken.every((watcher) => watchers.indexOf(watcher) % 2 === 1)).toBe(true);
  worker.send("SIGTERM");
});

/** Watches as an app does: subscribes again at any process that answers, until the link has its final status. */
async function watch(watcher: Watcher, from: readonly ServiceProcess[]): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const client = new AppClient(from[attempt % from.length]!.url, watcher.accessToken);
    let isRefused = false;
    try {
      for await (const { data, errors } of client.watch(WATCH, { id: watcher.linkId })) {
        isRefused = errors !== undefined;
        if (!data) continue;
        const { id, status } = data["paymentLinkUpdated"] as { id: string; status: string };
        watcher.ids.add(id);
        if (watcher.statuses.at(-1) !== status) watcher.statuses.push(status);
      }
    } catch {
      // The stream broke, or the process was not running.
    }
    if (FINAL.has(watcher.statuses.at(-1)!)) return;
    if (!isRefused) watcher.breaks += 1;
    await pause(100);
  }
}

/**
 * Opens a stream and waits for its first update. Tries again if the limit on streams is reached or the connection
 * fails.
 */
async function openStream(client: AppClient, id: string): Promise<ReturnType<AppClient["watch"]>> {
  for (;;) {
    const stream = client.watch(WATCH, { id });
    const { value } = await stream.next();
    if (value?.data) return stream;
    await pause(100);
  }
}

async function atMost<Item, Result>(
  count: number,
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = [...items];
  const workers = Array.from({ length: count }, async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) results.push(await work(item));
  });
  await Promise.all(workers);
  return results;
}

async function waitUntilAllSee(status: string, some: readonly Watcher[]): Promise<void> {
  const missing = () => some.filter(({ statuses }) => statuses.at(-1) !== status).map(({ loan }) => loan);
  await expect.poll(missing).toEqual([]);
}

/** Lets the lender confirm a payment for each of the links at one process. */
async function pay(some: readonly Watcher[], { url }: ServiceProcess): Promise<void> {
  lender.connect({ serviceUrl: url });
  for (const { loan } of some) {
    const linkId = [...lender.links].find(([, { sourceLoanNumber }]) => sourceLoanNumber === loan)![0];
    expect(await lender.pay(linkId)).toMatchObject({ status: 200 });
  }
}

/** Requests a link for each of the cases, which belong to several field partners. No worker mints the links yet. */
async function requestedLinks(): Promise<Watcher[]> {
  const loans = Array.from({ length: SUBSCRIPTIONS }, (_, index) => `WATCHED-${index}`);
  await lender.importCases(loans.map((loan) => aRow(loan)));
  const people = await Promise.all(Array.from({ length: PEOPLE }, () => aFieldPartner(setUpService)));
  const requested: Watcher[] = [];
  for (const [index, loan] of loans.entries()) {
    const { id, accessToken } = people[index % PEOPLE]!;
    await assign(setUpService, lender.code, loan, id);
    const app = new AppClient(setUpService.url, accessToken);
    const { data } = await app.ask("query ($loan: String) { cases(search: $loan) { edges { node { id } } } }", {
      loan,
    });
    const caseId = data!["cases"].edges[0].node.id;
    const visitId = randomUUID();
    await app.mutate("startVisit", { visitId, caseId, occurredAt: new Date() }, "visit { visitId }");
    const linkRequest = { visitId, amount: { minor: "250000", currency: "INR" }, channels: [] };
    const { paymentLink } = await app.mutate("requestPaymentLink", linkRequest, "paymentLink { id }");
    requested.push({ loan, linkId: paymentLink.id, accessToken, ids: new Set(), statuses: [], breaks: 0 });
  }
  return requested;
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/**
 * Connects to the inspector of a process. Only the live bytes of the heap show a leak: the resident memory also grows
 * while V8 postpones its collections.
 */
async function openHeap(process: ServiceProcess): Promise<{ liveBytes(): Promise<number>; close(): void }> {
  const socket = new WebSocket(/ws:\/\/\S+/.exec(process.log())![0]);
  await once(socket, "open");
  const call = async (method: string): Promise<{ usedSize: number }> => {
    const answered = once(socket, "message") as Promise<[MessageEvent<string>]>;
    socket.send(JSON.stringify({ id: 1, method }));
    const [{ data }] = await answered;
    return (JSON.parse(data) as { result: { usedSize: number } }).result;
  };
  const liveBytes = async () => {
    await call("HeapProfiler.collectGarbage");
    return (await call("Runtime.getHeapUsage")).usedSize;
  };
  return { liveBytes, close: () => socket.close() };
}
