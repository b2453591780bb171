import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aRow, assign, signOut, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient, type GraphqlAnswer } from "../fixtures/graphql-client.ts";
import { type Cli, startProcess } from "../fixtures/processes.ts";
import { visitSetup, type VisitSetup } from "../fixtures/visit-setup.ts";

const WATCH = "subscription { caseChanged { kind caseId case { status totalCollected { minor } } } }";
const SYNC = { kind: "SYNC", caseId: null, case: null };

let service: TestService;
let setup: VisitSetup;
let cli: Cli;

beforeAll(async () => {
  service = await startTestService();
  setup = await visitSetup(service);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});

/** Opens a stream, and waits for the SYNC with which it begins. */
async function openStream(app: AppClient): Promise<AsyncGenerator<GraphqlAnswer>> {
  const stream = app.watch(WATCH);
  expect(await nextOf(stream)).toEqual(SYNC);
  return stream;
}

async function nextOf(stream: AsyncGenerator<GraphqlAnswer>): Promise<unknown> {
  const { value } = await stream.next();
  return (value as GraphqlAnswer | undefined)?.data?.["caseChanged"];
}

async function pay(loan: string, reference: string, amount: number): Promise<void> {
  const payment = { amount, reference, paidAt: new Date().toISOString(), mode: "upi" };
  expect(await setup.lender.confirm(loan, payment)).toMatchObject({ status: 200 });
}

function reverse(loan: string, reference: string): Promise<unknown> {
  const at = ["--reversed-at", new Date().toISOString(), "--reason", "bank_reversed", "--yes"];
  const own = ["--reversal-reference", `RV-${reference}`];
  return cli.json("payment", "reverse", setup.lender.code, loan, reference, ...own, ...at);
}

describe("the subscription caseChanged", () => {
  test("reports a case that moves as UNASSIGNED without the case to its former holder only, and as ASSIGNED to the next", async () => {
    const { loan, caseId } = await setup.assignedCase();
    const next = await aFieldPartner(service);
    const stranger = await aFieldPartner(service);
    const [former, nexts, strangers] = await Promise.all(
      [setup.app, ...[next, stranger].map((one) => new AppClient(service.url, one.accessToken))].map(openStream),
    );
    await assign(service, setup.lender.code, loan, next.id);
    expect(await nextOf(former!)).toEqual({ kind: "UNASSIGNED", caseId, case: null });
    const theCase = { status: "ASSIGNED", totalCollected: { minor: "0" } };
    expect(await nextOf(nexts!)).toEqual({ kind: "ASSIGNED", caseId, case: theCase });

    // The next hint of each stream shows that the streams got no other hint in between.
    await pay(loan, "MOVED", 1_000);
    expect(await nextOf(nexts!)).toMatchObject({ kind: "PAYMENT", caseId });
    const own = await setup.assignedCase();
    expect(await nextOf(former!)).toMatchObject({ kind: "ASSIGNED", caseId: own.caseId });
    await assign(service, setup.lender.code, own.loan, stranger.id);
    expect(await nextOf(strangers!)).toMatchObject({ kind: "ASSIGNED", caseId: own.caseId });
    await Promise.all([former, nexts, strangers].map((stream) => stream!.return(undefined)));
  });

  test("reports a payment, the end of the case, a reversal, and a hold, with the case as it is then, on two processes", async () => {
    const { loan, caseId } = await setup.assignedCase();
    const other = await startProcess({ DATABASE_URL: service.databaseUrl, ROLE: "server", LOG_LEVEL: "warn" });
    const elsewhere = new AppClient(other.url, setup.app.accessToken);
    const streams = await Promise.all([openStream(setup.app), openStream(elsewhere)]);
    const expectHints = async (...expected: object[]) => {
      for (const stream of streams) {
        for (const hint of expected) expect(await nextOf(stream)).toMatchObject({ caseId, ...hint });
      }
    };
    await pay(loan, "PART", 1_000);
    await expectHints({ kind: "PAYMENT", case: { status: "IN_PROGRESS", totalCollected: { minor: "100000" } } });
    await pay(loan, "REST", 4_000);
    const paid = { status: "COLLECTED", totalCollected: { minor: "500000" } };
    await expectHints({ kind: "PAYMENT", case: paid }, { kind: "STATUS", case: paid });
    await reverse(loan, "REST");
    const reopened = { status: "IN_PROGRESS", totalCollected: { minor: "100000" } };
    await expectHints({ kind: "REVERSAL", case: reopened }, { kind: "STATUS", case: reopened });
    await cli.json("case", "hold", setup.lender.code, loan, "--reason", "The borrower disputes it");
    await expectHints({ kind: "STATUS", case: { status: "ON_HOLD" } });

    // A process that stops ends its streams. The other process continues.
    other.send("SIGTERM");
    expect(await streams[1].next()).toMatchObject({ done: true });
    await cli.json("case", "release", setup.lender.code, loan, "--reason", "The dispute is settled");
    expect(await nextOf(streams[0])).toMatchObject({ kind: "STATUS", case: { status: "IN_PROGRESS" } });
    await streams[0].return(undefined);
  });

  test("reports the loss of a case whose loan begins its next cycle by an import", async () => {
    const { loan, caseId } = await setup.assignedCase();
    const stream = await openStream(setup.app);
    await pay(loan, "ALL", 5_000);
    expect(await nextOf(stream)).toMatchObject({ kind: "PAYMENT", caseId });
    expect(await nextOf(stream)).toMatchObject({ kind: "STATUS", caseId });
    const asOf = new Date().toISOString();
    const { status } = await setup.lender.importCases([
      aRow(loan, { outstandingAmount: 3_000, outstandingAsOf: asOf }),
    ]);
    expect(status).toBe(200);
    expect(await nextOf(stream)).toEqual({ kind: "UNASSIGNED", caseId, case: null });
    await stream.return(undefined);
  });

  test("sends SYNC after a gap in the signals of other processes", async () => {
    const stream = await openStream(setup.app);
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'collections-signals' and datname = current_database()`;
    expect((await service.app.database.pool.query(cut)).rowCount).toBeGreaterThan(0);
    expect(await nextOf(stream)).toEqual(SYNC);
    await stream.return(undefined);
  });

  test("ends with UNAUTHENTICATED when the session ends, and sends no hint after it", async () => {
    const { id, accessToken } = await aFieldPartner(service);
    const stream = await openStream(new AppClient(service.url, accessToken));
    await signOut(service, accessToken);
    const { loan } = await setup.assignedCase();
    await assign(service, setup.lender.code, loan, id);
    const { value } = await stream.next();
    expect(value).toMatchObject({ errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
    expect(await stream.next()).toMatchObject({ done: true });
  });

  test("ends a stream without any change within seconds after the session has ended", async () => {
    const { accessToken } = await aFieldPartner(service);
    const stream = await openStream(new AppClient(service.url, accessToken));
    await signOut(service, accessToken);
    const { value } = await stream.next();
    expect(value).toMatchObject({ errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
  });

  test("is refused with UNAUTHENTICATED without a session", async () => {
    const { errors } = await new AppClient(service.url).ask(WATCH);
    expect(errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
  });

  test("allows 20 streams for each field partner: the 21st ends the oldest, and the others continue", async () => {
    const { id, accessToken } = await aFieldPartner(service);
    const app = new AppClient(service.url, accessToken);
    const streams: AsyncGenerator<GraphqlAnswer>[] = [];
    for (let opened = 0; opened < 21; opened += 1) streams.push(await openStream(app));
    expect(await streams[0]!.next()).toMatchObject({ done: true });
    const { loan, caseId } = await setup.assignedCase();
    await assign(service, setup.lender.code, loan, id);
    for (const stream of streams.slice(1)) {
      expect(await nextOf(stream)).toMatchObject({ kind: "ASSIGNED", caseId });
      await stream.return(undefined);
    }
  });

  test("leaks no memory over 300 subscriptions that were opened and closed", async () => {
    const { accessToken } = await aFieldPartner(service);
    const app = new AppClient(service.url, accessToken);
    await openAndClose(app, 60);
    const before = heapBytes();
    await openAndClose(app, 300);
    expect(heapBytes() - before).toBeLessThan(3 * 1_024 * 1_024);
  });
});

/** Opens and closes `watchers` streams, 10 at a time. Does not count a stream whose slot a newer stream took. */
async function openAndClose(app: AppClient, watchers: number): Promise<void> {
  for (let gone = 0; gone < watchers;) {
    const watched = Array.from({ length: 10 }, () => app.watch(WATCH));
    const firsts = await Promise.all(watched.map((stream) => stream.next()));
    gone += firsts.filter(({ value }) => (value as GraphqlAnswer | undefined)?.data).length;
    await Promise.all(watched.map((stream) => stream.return(undefined)));
    await delay(10);
  }
}

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
