import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, test, vi } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { type ServiceProcess, startProcess } from "../fixtures/processes.ts";

// A process starts in a second, and in ten on a machine that does much else.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

/** `SUBSCRIPTIONS=300 vitest run processes/subscriptions` is the run that the figures of docs/decisions/0021 are from. */
const SUBSCRIPTIONS = Number(process.env["SUBSCRIPTIONS"] ?? 40);
const PEOPLE = 20;
const COMINGS_AND_GOINGS = 10;
const WATCH = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { id status } }";
const FINAL = new Set(["PAID", "UNAVAILABLE", "SUPERSEDED"]);

interface Watcher {
  readonly loan: string;
  readonly linkId: string;
  readonly accessToken: string;
  /** The ids of all links that it was told of, and the statuses, each once as long as it stays. */
  readonly ids: Set<string>;
  readonly statuses: string[];
  /** Streams that broke off before the link had its final status. */
  breaks: number;
}

let setUp: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let watchers: Watcher[];
let processes: ServiceProcess[];
let settings: Record<string, string>;

beforeAll(async () => {
  setUp = await startTestService({ works: false });
  lender = await aLender(setUp);
  watchers = await requestedLinks();
  settings = { DATABASE_URL: setUp.databaseUrl, RATE_LIMITS: "off", LOG_LEVEL: "error" };
  processes = await Promise.all([1, 2].map(() => startProcess({ ...settings, ROLE: "server" })));
});

// Only Linux tells what another process has open.
test.runIf(process.platform === "linux")(
  "whoever comes and goes leaves no connection and no memory behind",
  async () => {
    const [one] = processes as [ServiceProcess];
    const files: number[] = [];
    const memoryMb: number[] = [];
    for (let round = 0; round < COMINGS_AND_GOINGS; round += 1) {
      const streams = await atMost(30, watchers, ({ accessToken, linkId }) =>
        begun(new AppClient(one.url, accessToken), linkId),
      );
      await Promise.all(streams.map((stream) => stream.return(undefined)));
      // Each of them has a place of 20 again once the service has noticed.
      await expect.poll(() => openFiles(one.pid), { timeout: 30_000 }).toBeLessThan(60);
      files.push(openFiles(one.pid));
      memoryMb.push(residentMb(one.pid));
    }
    process.stdout.write(`open files and resident MB after each round: ${files.join(" ")}; ${memoryMb.join(" ")}\n`);
    // Node takes more at first and keeps it; what is left behind would go on growing. graphql-link-life looks at the heap.
    expect(memoryMb.at(-1)! - memoryMb.at(-4)!, `resident MB: ${memoryMb.join(" ")}`).toBeLessThan(24);
  },
);

test(`${SUBSCRIPTIONS} subscriptions over two processes each hear of their own link, and miss nothing`, async () => {
  const [one, two] = processes as [ServiceProcess, ServiceProcess];
  const watching = watchers.map((watcher, index) => watch(watcher, index % 2 === 0 ? [one, two] : [two, one]));
  await everybodySees("REQUESTED", watchers);

  // A third process works the jobs, so that every change happens elsewhere.
  const worker = await startProcess({ ...settings, ROLE: "worker" });
  await everybodySees("MINTED", watchers);

  // Nobody hears anything for a second: the processes listen over connections that are cut.
  const { rowCount } = await setUp.app.database.pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'collections-signals' and datname = current_database()",
  );
  expect(rowCount).toBeGreaterThanOrEqual(3);
  const [paidFirst, paidLater] = [
    watchers.filter((_, index) => index % 3 === 0),
    watchers.filter((_, index) => index % 3 !== 0),
  ];
  await pay(paidFirst, one);
  await everybodySees("PAID", paidFirst);

  // One of the two dies: its clients ask again at the other.
  two.send("SIGKILL");
  await two.ended;
  await pay(paidLater, one);
  await everybodySees("PAID", paidLater);
  await Promise.all(watching);

  expect(watchers.filter(({ ids, linkId }) => ids.size !== 1 || !ids.has(linkId))).toEqual([]);
  expect(watchers.filter(({ statuses }) => statuses.join() !== "REQUESTED,MINTED,PAID")).toEqual([]);
  const broken = watchers.filter(({ breaks }) => breaks > 0);
  expect(broken.length).toBeGreaterThan(0);
  expect(broken.every((watcher) => watchers.indexOf(watcher) % 2 === 1)).toBe(true);
  worker.send("SIGTERM");
});

/** As an app does: watches until the end, and asks again, at whichever process answers, when the stream breaks. */
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
      // Broken off, or nobody there.
    }
    if (FINAL.has(watcher.statuses.at(-1)!)) return;
    if (!isRefused) watcher.breaks += 1;
    await pause(100);
  }
}

/** A stream that has shown the link; refused for want of a place or a connection, it is asked for again. */
async function begun(client: AppClient, id: string): Promise<ReturnType<AppClient["watch"]>> {
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

async function everybodySees(status: string, whom: readonly Watcher[]): Promise<void> {
  const missing = () => whom.filter(({ statuses }) => statuses.at(-1) !== status).map(({ loan }) => loan);
  await expect.poll(missing, { timeout: 60_000 }).toEqual([]);
}

/** The lender confirms a payment by each of the links, at one process. */
async function pay(whom: readonly Watcher[], { url }: ServiceProcess): Promise<void> {
  lender.connect({ serviceUrl: url });
  for (const { loan } of whom) {
    const linkId = [...lender.links].find(([, { sourceLoanNumber }]) => sourceLoanNumber === loan)![0];
    expect(await lender.pay(linkId)).toMatchObject({ status: 200 });
  }
}

/** Field partners with a link each for every of their cases, which nobody has minted yet. */
async function requestedLinks(): Promise<Watcher[]> {
  const loans = Array.from({ length: SUBSCRIPTIONS }, (_, index) => `WATCHED-${index}`);
  await lender.importCases(loans.map((loan) => aRow(loan)));
  const people = await Promise.all(Array.from({ length: PEOPLE }, () => aFieldPartner(setUp)));
  const requested: Watcher[] = [];
  for (const [index, loan] of loans.entries()) {
    const { id, accessToken } = people[index % PEOPLE]!;
    await assign(setUp, lender.code, loan, id);
    const app = new AppClient(setUp.url, accessToken);
    const { data } = await app.ask("query ($loan: String) { cases(search: $loan) { edges { node { id } } } }", {
      loan,
    });
    const caseId = data!["cases"].edges[0].node.id;
    const visitId = randomUUID();
    await app.mutate("startVisit", { visitId, caseId, occurredAt: new Date() }, "visit { visitId }");
    const wish = { visitId, amount: { minor: "250000", currency: "INR" }, channels: [] };
    const { paymentLink } = await app.mutate("requestPaymentLink", wish, "paymentLink { id }");
    requested.push({ loan, linkId: paymentLink.id, accessToken, ids: new Set(), statuses: [], breaks: 0 });
  }
  return requested;
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function residentMb(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))![1];
  return Math.round((Number(kibibytes) * 1_024) / 1e6);
}
