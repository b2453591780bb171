import { publicId } from "@collections/database";
import type { Answer } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { startWorker, type Worker } from "../../src/worker/worker.ts";
import { aLender, aRow, startTestService, testApp, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

const REPLAY = "/api/v1/partner/webhooks/deliveries/replay";
const REPLAYS = "/api/v1/partner/webhooks/replays";
const STOP_LIMIT_MS = 300_000;

let service: TestService;
let other: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  other = await startTestService({ hasWorker: false, settings: { DATABASE_URL: service.databaseUrl } });
});

describe("POST deliveries/replay", () => {
  let lender: Lender;

  beforeAll(async () => {
    lender = await aLender(service);
    await lender.importCases(Array.from({ length: 4 }, (_, index) => aRow(`LN-${index}`)));
    await lender.importCases([aRow("LN-0", { outstandingAmount: 10 })]);
    await put(lender, "LN-0", "parked");
    await put(lender, "LN-1", "delivered");
    await put(lender, "LN-2", "parked");
  });

  test.each<[object, number]>([
    [{}, 3],
    [{ state: "parked" }, 3],
    [{ state: "delivered" }, 1],
    [{ loan: "LN-0" }, 2],
    [{ loan: "LN-0", kind: "case.updated" }, 1],
    [{ kind: "case.closed" }, 0],
    [{ since: "2020-01-01T00:00:00Z", until: "2199-01-01T00:00:00Z" }, 3],
    [{ since: "2199-01-01T00:00:00+05:30" }, 0],
    [{ until: "2020-01-01T00:00:00Z" }, 0],
    [{ loan: null, kind: null, since: null, until: null, state: null, ratePerSecond: null }, 3],
  ])("with dryRun counts the events and starts no replay: %j", async (filter, count) => {
    const counted = await lender.call("POST", REPLAY, { ...filter, dryRun: true });
    expect(counted).toMatchObject({ status: 200, body: { success: true, dryRun: true, count } });
    const { rows } = await service.app.database.pool.query("select from webhooks.replay");
    expect(rows).toEqual([]);
  });

  test("makes a dry run if only the query requests it, even without a body", async () => {
    expect((await lender.call("POST", `${REPLAY}?dryRun`)).body).toEqual({ success: true, dryRun: true, count: 3 });
    const odd = await lender.call("POST", `${REPLAY}?dryRun=maybe`, { dryRun: true });
    expect(odd).toMatchObject({ status: 422, body: { code: "INVALID_ENUM" } });
    const mistyped = await lender.call("POST", `${REPLAY}?dryrun=true`, { dryRun: true, lone: "LN-1" });
    expect(mistyped.body["warnings"]).toMatchObject([
      { code: "UNKNOWN_PARAMETER", detail: expect.stringMatching(/Did you mean dryRun/) as string },
      { code: "UNKNOWN_FIELD", pointer: "/lone", detail: expect.stringMatching(/Did you mean loan/) as string },
    ]);
  });

  test.each<[object, string, string]>([
    [{ loan: "" }, "REQUIRED", "/loan"],
    [{ loan: 7 }, "WRONG_TYPE", "/loan"],
    [{ loan: "x".repeat(65) }, "TOO_LONG", "/loan"],
    [{ loan: "a\u0000" }, "INVALID_TEXT", "/loan"],
    [{ kind: ["case.created"] }, "WRONG_TYPE", "/kind"],
    [{ kind: "x".repeat(65) }, "TOO_LONG", "/kind"],
    [{ since: "yesterday" }, "INVALID_DATE", "/since"],
    [{ until: "2026-11-20T09:41:07" }, "NOT_UTC", "/until"],
    [{ since: 1_795_167_667_000 }, "WRONG_TYPE", "/since"],
    [{ since: "2026-11-20T00:00:00Z", until: "2026-11-20T00:00:00Z" }, "INVALID_DATE", "/until"],
    [{ state: "waiting" }, "INVALID_ENUM", "/state"],
    [{ state: ["parked"] }, "INVALID_ENUM", "/state"],
    [{ ratePerSecond: 0 }, "INVALID_ENUM", "/ratePerSecond"],
    [{ ratePerSecond: 1_001 }, "INVALID_ENUM", "/ratePerSecond"],
    [{ ratePerSecond: 2.5 }, "INVALID_ENUM", "/ratePerSecond"],
    [{ ratePerSecond: "50" }, "WRONG_TYPE", "/ratePerSecond"],
    [{ dryRun: "yes" }, "WRONG_TYPE", "/dryRun"],
  ])("rejects %j", async (body, code, pointer) => {
    const refused = await lender.call("POST", REPLAY, body);
    expect(refused).toMatchObject({ status: 422, body: { code, errors: [{ code, pointer }] } });
    expect(refused.body["detail"]).toMatch(/^\w+: .*\.$/);
  });

  test.each(["[]", "7", "{", '"parked"', "null"])("rejects a body that is not an object: %s", async (body) => {
    expect(await lender.call("POST", REPLAY, body)).toMatchObject({ status: 400, body: { code: "MALFORMED_JSON" } });
  });

  test("answers 405 to GET: the last part of the path is not read as an event's id", async () => {
    expect(await lender.call("GET", REPLAY)).toMatchObject({ status: 405, headers: { allow: "POST" } });
  });
});

describe("a running replay", () => {
  test("shows its progress to its own lender only, step by step", async () => {
    const [lender, stranger] = [await aLender(service), await aLender(service)];
    await lender.importCases(Array.from({ length: 5 }, (_, index) => aRow(`LN-${index}`)));
    await put(lender, "%", "parked");
    const started = await lender.call("POST", REPLAY, { ratePerSecond: 2 });
    expect(started).toMatchObject({ status: 202, body: { success: true, count: 5, ratePerSecond: 2 } });
    const { replayId } = started.body as { replayId: string };
    expect(replayId).toMatch(/^replay_[0-9a-f]{32}$/);
    expect((await progress(lender, replayId)).body).toEqual({
      success: true,
      replayId,
      state: "running",
      count: 5,
      done: 0,
      ratePerSecond: 2,
      createdAt: expect.stringMatching(/Z$/) as string,
      finishedAt: null,
    });
    const [third, last] = [await heldEvents(lender, 2, 2), await heldEvents(lender, 4, 1)];
    const app = await testApp(service.databaseUrl);
    const worker = await startWorker(app);
    const shown = async () => {
      const { done, count, state } = (await progress(lender, replayId)).body as unknown as Progress;
      return `${done} of ${count}, ${state}`;
    };
    await expect.poll(shown).toBe("2 of 5, running");
    await third.release();
    await expect.poll(shown).toBe("4 of 5, running");
    await last.release();
    await expect.poll(shown).toBe("5 of 5, done");
    await worker.stop(STOP_LIMIT_MS);
    await app.close();
    expect((await progress(lender, replayId)).body["finishedAt"]).toMatch(/Z$/);
    const unknown = publicId("replay", "019aa3c0-1d5e-7f44-b1c2-d3e4f5061728");
    for (const answer of [
      await progress(stranger, replayId),
      await progress(lender, unknown),
      await progress(lender, "1"),
      await progress(lender, "replay_%00"),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: { code: "REPLAY_NOT_FOUND" } });
    }
  });

  test("is returned to concurrent and later requests for the same events, which start no second replay", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("LN-1"), aRow("LN-2")]);
    await put(lender, "%", "delivered");
    const begin = (body: object) => lender.call("POST", REPLAY, { state: "delivered", ...body });
    const answers = await Promise.all([begin({}), begin({ ratePerSecond: 1 }), begin({ loan: null }), begin({})]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    const ids = new Set(answers.map(({ body }) => body["replayId"]));
    expect(ids.size).toBe(1);
    ids.add((await begin({ loan: "LN-1" })).body["replayId"]);
    await endReplays();
    ids.add((await begin({})).body["replayId"]);
    expect(ids.size).toBe(3);
    await endReplays();
  });

  test("is not started again by a repeat of its request, not even once it has ended", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("LN-1")]);
    await put(lender, "%", "delivered");
    const timestamp = String(Date.now());
    const send = () => lender.call("POST", REPLAY, { state: "delivered" }, { timestamp });
    const first = await send();
    expect(first).toMatchObject({ status: 202, body: { count: 1 } });
    await endReplays();
    expect((await send()).body).toEqual(first.body);
    const { rows } = await service.app.database.pool.query("select from webhooks.replay where state = 'running'");
    expect(rows).toEqual([]);
  });

  test("keeps its rate and sends each event once when two processes advance it and one of them stops", async () => {
    const lender = await aLender(service);
    await lender.importCases(Array.from({ length: 1_000 }, (_, index) => aRow(`A-${index}`)));
    await lender.importCases(Array.from({ length: 1_000 }, (_, index) => aRow(`B-${index}`)));
    await put(lender, "%", "parked");
    const workers = await Promise.all([service.app, other.app].map((app) => aWorker(app)));
    const started = await lender.call("POST", REPLAY, { ratePerSecond: 700 });
    expect(started.body).toMatchObject({ count: 2_000 });
    const { replayId } = started.body as { replayId: string };
    await lender.waitForEvents((events) => events.length > 0);
    await workers[0]!.stop(STOP_LIMIT_MS);
    await lender.waitForEvents((events) => events.length === 2_000);
    await expect.poll(async () => (await progress(lender, replayId)).body["state"]).toBe("done");
    const { body } = await progress(lender, replayId);
    expect(body).toMatchObject({ done: 2_000, count: 2_000 });
    // A replay of 2,000 events at 700 a second takes three steps, one a second. So it takes at least two seconds.
    const { createdAt, finishedAt } = body as { createdAt: string; finishedAt: string };
    expect(Date.parse(finishedAt) - Date.parse(createdAt)).toBeGreaterThanOrEqual(2_000);
    expect(lender.deliveries).toHaveLength(2_000);
    expect(new Set(lender.deliveries.map(({ headers }) => headers["x-service-replay"]))).toEqual(new Set(["true"]));
  });
});

async function aWorker(app: TestService["app"]): Promise<Worker> {
  const worker = await startWorker(app);
  afterFile(() => worker.stop(2_000));
  return worker;
}

function progress(lender: Lender, replayId: string): Promise<Answer> {
  return lender.call("GET", `${REPLAYS}/${replayId}`);
}

interface Progress {
  readonly done: number;
  readonly count: number;
  readonly state: string;
}

/** Locks `count` of the lender's deliveries from `offset` on, so that a replay's step that sends them again waits. */
async function heldEvents(lender: Lender, offset: number, count: number): Promise<{ release(): Promise<void> }> {
  const client = await service.app.database.pool.connect();
  await client.query("begin");
  const { rows } = await client.query<{ id: string }>(
    `select id from webhooks.delivery where lender_id = (select id from lenders.lender where code = $1)
     order by id offset $2 limit $3`,
    [lender.code, offset, count],
  );
  await client.query("select from webhooks.delivery where id = any ($1) for update", [rows.map(({ id }) => id)]);
  return {
    async release() {
      await client.query("rollback");
      client.release();
    },
  };
}

async function endReplays(): Promise<void> {
  await service.app.database.pool.query("update webhooks.replay set state = 'done', finished_at = now()");
}

/** Sets the state of a lender's deliveries, as if they had just reached it. `loan` is a LIKE pattern. */
async function put(lender: Lender, loan: string, state: "parked" | "delivered"): Promise<void> {
  await service.app.database.pool.query(
    `update webhooks.delivery set state = $3, attempts = 7, settled_at = now()
     where loan like $2 and lender_id = (select id from lenders.lender where code = $1)`,
    [lender.code, loan, state],
  );
}
