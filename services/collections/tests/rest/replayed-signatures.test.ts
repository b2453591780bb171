import { beforeAll, describe, expect, test } from "vitest";
import { aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";
import { PARTNER, payment, repeatScenes } from "./fixtures/repeat-scenes.ts";
import { allRows } from "../fixtures/table-rows.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

const { scenes, aCall, settle } = repeatScenes(() => service);

describe("a signed request that is sent again with another query string", () => {
  const queries = ["x=1", "dryRun", "dryRun=false", "atomic", "atomic=0&dryRun=1"];
  const posts = Object.entries(scenes).filter(([name]) => name.startsWith("POST"));

  test.each(posts)("has no further effect and gets the first answer: %s", async (_name, scene) => {
    const { lender, bytes } = await aCall("POST", scene);
    expect(await answerTo(service.url, bytes)).toMatchObject(scene.first);
    await scene.meanwhile?.(lender);
    const before = await allRows(service.app);
    for (const query of queries) {
      expect(await answerTo(service.url, withQuery(bytes, query)), query).toMatchObject(scene.repeat);
    }
    expect(await allRows(service.app)).toEqual(before);
  });

  test("does not reopen a loan that has been paid", async () => {
    const { lender, bytes } = await anImport([aRow("LN-1")]);
    await answerTo(service.url, bytes);
    await lender.confirm("LN-1", payment({ amount: 5000 }));
    const { body } = await answerTo(service.url, withQuery(bytes, "x=1"));
    expect(body).toMatchObject({ summary: { reopened: 0, unchanged: 1 } });
    expect((await lender.getCase("LN-1")).body).toMatchObject({ cycle: 1, status: "collected", outstandingAfter: 0 });
  });

  test("does not apply the rows if the first request was a dry run", async () => {
    const { lender, bytes } = await anImport([aRow("LN-1")], "dryRun=true");
    const rehearsed = { status: 200, body: { dryRun: true, importId: null, summary: { created: 1 } } };
    expect(await answerTo(service.url, bytes)).toMatchObject(rehearsed);
    for (const query of ["", "dryRun=false", "atomic", "x=1"]) {
      expect(await answerTo(service.url, withQuery(bytes, query)), query).toMatchObject(rehearsed);
    }
    expect((await lender.getCase("LN-1")).status).toBe(404);
  });

  test("does not apply the valid rows of a rejected atomic import, even if the reason for the rejection is gone", async () => {
    const { lender, bytes } = await anImport([aRow("LN-1"), { sourceLoanNumber: "LN-2", action: "hold" }], "atomic");
    const refused = { status: 422, body: { code: "IMPORT_REJECTED", importId: null, summary: { rejected: 1 } } };
    expect(await answerTo(service.url, bytes)).toMatchObject(refused);
    await lender.importCases([aRow("LN-2")]);
    for (const query of ["", "atomic", "dryRun"]) {
      expect(await answerTo(service.url, withQuery(bytes, query)), query).toMatchObject(refused);
    }
    expect((await lender.getCase("LN-1")).status).toBe(404);
    expect((await lender.getCase("LN-2")).body).toMatchObject({ status: "new" });
  });

  test("gets 200 if the first request imported its valid rows, even if the repeat's query string contains atomic", async () => {
    const { bytes } = await anImport([aRow("LN-1"), { sourceLoanNumber: "LN-2", action: "hold" }]);
    const { body } = await answerTo(service.url, bytes);
    expect(await answerTo(service.url, withQuery(bytes, "atomic"))).toMatchObject({
      status: 200,
      body: { importId: body["importId"], dryRun: false, summary: { unchanged: 1, rejected: 1 } },
    });
  });

  test("takes effect with only one of the query strings, if it is sent concurrently with different ones", async () => {
    for (let round = 0; round < 8; round += 1) {
      const { lender, bytes } = await anImport([aRow("LN-1")]);
      const queries = round % 2 === 0 ? ["dryRun", "", "atomic", "dryRun"] : ["", "dryRun", "dryRun", "x=1"];
      const answers = await Promise.all(queries.map((query) => answerTo(service.url, withQuery(bytes, query))));
      const dryRuns = new Set(answers.map(({ body }) => body["dryRun"]));
      expect(dryRuns.size).toBe(1);
      expect((await lender.getCase("LN-1")).status).toBe(dryRuns.has(true) ? 404 : 200);
    }
  });

  test("is recognized even if its signature is in capitals and has white space around it", async () => {
    const { lender, bytes } = await anImport([aRow("LN-1")]);
    await answerTo(service.url, bytes);
    await lender.confirm("LN-1", payment({ amount: 5000 }));
    const inCapitals = bytes.replace(/^(X-Service-Signature:)(.*)$/m, (_, name, value: string) => {
      return `${String(name)} \t${value.toUpperCase()}\t `.trimEnd();
    });
    expect(inCapitals).not.toBe(bytes);
    expect((await answerTo(service.url, inCapitals)).body).toMatchObject({ summary: { unchanged: 1 } });
  });

  test("applies the rows if the first request was rejected as a whole", async () => {
    const { bytes } = await anImport([aRow("LN-1")], "dryRun=maybe");
    expect(await answerTo(service.url, bytes)).toMatchObject({ status: 422, body: { code: "INVALID_ENUM" } });
    expect((await answerTo(service.url, withQuery(bytes, ""))).body).toMatchObject({ summary: { created: 1 } });
  });

  test("is a dry run if the first request was one, and otherwise gets the replay that the first request started", async () => {
    const { bytes } = await aCall("POST", scenes["POST deliveries-replay, as a dry run"]!);
    const counted = { status: 200, body: { dryRun: true, count: 1 } };
    expect(await answerTo(service.url, bytes)).toMatchObject(counted);
    expect(await answerTo(service.url, withQuery(bytes, ""))).toMatchObject(counted);
    const other = await aCall("POST", scenes["POST deliveries-replay"]!);
    const { body } = await answerTo(service.url, other.bytes);
    expect(await answerTo(service.url, withQuery(other.bytes, "dryRun"))).toMatchObject({
      status: 202,
      body: { replayId: body["replayId"], count: 1 },
    });
  });
});

test("an event is sent again exactly once for each signed request, whatever the order of the repeats", async () => {
  const { lender, bytes: first } = await aCall("POST", scenes["POST deliveries-replay-one"]!);
  await answerTo(service.url, first);
  const path = first.split(" ", 2)[1]!;
  await settle(lender, "delivered");
  expect((await lender.call("POST", path)).status).toBe(202);
  await settle(lender, "delivered");
  const before = await allRows(service.app);
  expect((await answerTo(service.url, first)).status).toBe(202);
  expect((await answerTo(service.url, withQuery(first, "x=1"))).status).toBe(202);
  expect(await allRows(service.app)).toEqual(before);
});

/** Returns a new lender, and the bytes of its signed import of these rows. */
function anImport(rows: readonly object[], query = "") {
  return aCall("POST", { call: () => ({ path: `${PARTNER}/cases${query && `?${query}`}`, body: { rows } }) });
}

/** Returns the same signed bytes with another query string. The signature does not cover the query. */
function withQuery(bytes: string, query: string): string {
  return bytes.replace(/^(\S+ [^ ?]+)(\?\S*)? /, (_, line: string) => `${line}${query && `?${query}`} `);
}
