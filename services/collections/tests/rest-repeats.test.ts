import { readFile } from "node:fs/promises";
import { type Answer, sign } from "@collections/lender-twin";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import type { SignedRequest } from "../src/rest/request-context.ts";
import { idOfRequest } from "../src/rest/same-request.ts";
import { partnerEndpoints } from "../src/rest/v1/router.ts";
import { aLender, aRow, startTestService, type TestService } from "./fixture.ts";
import { answerTo, leaveAfter, loseAnswer } from "./raw-socket.ts";
import { allRows, rowsOf } from "./table-rows.ts";

type Lender = Awaited<ReturnType<typeof aLender>> & { readonly id: string };

/** A call of one endpoint by a lender of its own. */
interface Call {
  readonly path: string;
  readonly body?: object;
}

interface Scene {
  /** Brings a lender to where the call makes sense, always the same way. */
  readonly call: (lender: Lender) => Promise<Call> | Call;
  /** What happens between the call whose answer is lost and its repeat: the repeat must not take it back. */
  readonly meanwhile?: (lender: Lender) => Promise<unknown>;
  /** The answer to the first call and to each repeat, as far as it does not tell the time. */
  readonly first: object;
  readonly repeat: object;
}

const PARTNER = "/api/v1/partner";
const DELIVERIES = `${PARTNER}/webhooks/deliveries`;
const IMPORT = {
  rows: [
    aRow("LN-NEW"),
    aRow("LN-KNOWN", { outstandingAmount: 300 }),
    aRow("LN-SETTLED", { outstandingAmount: 0 }),
    { sourceLoanNumber: "LN-HELD", action: "hold", reason: "dispute" },
    { sourceLoanNumber: "LN-GONE", action: "withdraw", reason: "recalled" },
    { sourceLoanNumber: "LN-LATER", action: "hold", reason: "not imported yet" },
    aRow("LN-WRONG", { borrowerPhone: "12" }),
    aRow("LN-RUPEES", { currency: "USD" }),
  ],
};

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ works: false });
});

/** One for each endpoint and method; some endpoints have more than one thing to repeat. */
const scenes: Record<string, Scene> = {
  "GET health": { call: () => ({ path: `${PARTNER}/health` }), ...same(200, { ok: true }) },
  "POST import": {
    call: async (lender) => {
      await lender.importCases(["KNOWN", "SETTLED", "HELD", "GONE", "RUPEES"].map((name) => aRow(`LN-${name}`)));
      return { path: `${PARTNER}/cases`, body: IMPORT };
    },
    async meanwhile(lender) {
      await lender.confirm("LN-NEW", payment({ amount: 5000 }));
      await lender.importCases([
        aRow("LN-KNOWN", { outstandingAmount: 200 }),
        aRow("LN-SETTLED"),
        { sourceLoanNumber: "LN-HELD", action: "release" },
        aRow("LN-LATER"),
        aRow("LN-RUPEES", { outstandingAmount: 0 }),
      ]);
    },
    first: { status: 200, body: { success: false, summary: { created: 1, updated: 3, withdrawn: 1, rejected: 3 } } },
    repeat: { status: 200, body: { success: false, summary: { unchanged: 5, rejected: 3 } } },
  },
  "POST import, all rows or none, which would be none by now": {
    call: () => ({
      path: `${PARTNER}/cases?atomic`,
      body: { rows: [aRow("LN-1", { outstandingAsOf: "2026-11-20T00:00:00Z" }), aRow("LN-2")] },
    }),
    meanwhile: (lender) => lender.confirm("LN-1", payment({ amount: 5000 })),
    first: { status: 200, body: { success: true, summary: { created: 2, rejected: 0 } } },
    repeat: { status: 200, body: { success: true, summary: { unchanged: 2, rejected: 0 } } },
  },
  "POST import, all rows or none": {
    call: () => ({ path: `${PARTNER}/cases?atomic`, body: { rows: [aRow("LN-1"), aRow("LN-1")] } }),
    ...same(422, { code: "IMPORT_REJECTED", importId: null }),
  },
  "POST import, as a rehearsal": {
    call: () => ({ path: `${PARTNER}/cases`, body: { rows: [aRow("LN-1")], dryRun: true } }),
    ...same(200, { dryRun: true, summary: { created: 1 } }),
  },
  "GET get-case": {
    call: async (lender) => {
      await lender.importCases([aRow("LN-1")]);
      return { path: `${PARTNER}/cases/LN-1` };
    },
    ...same(200, { sequence: 1 }),
  },
  "POST confirm": {
    call: async (lender) => {
      await lender.importCases([aRow("LN-1")]);
      return { path: `${PARTNER}/cases/LN-1/payments/confirm`, body: payment() };
    },
    meanwhile: (lender) => lender.confirm("LN-1", payment({ reference: "pay_2", amount: 4000 })),
    first: { status: 200, body: { success: true, outstandingAfter: 4000 } },
    repeat: {
      status: 409,
      body: { code: "DUPLICATE_CONFIRMATION", matches: true, original: { outstandingAfter: 4000 } },
    },
  },
  "POST webhooks-test": {
    call: () => ({ path: `${PARTNER}/webhooks/test` }),
    ...same(200, { delivered: true, endpoint: { suspended: false, consecutiveFailures: 0 } }),
  },
  "GET deliveries-list": {
    call: async (lender) => {
      await lender.importCases([aRow("LN-1")]);
      return { path: DELIVERIES };
    },
    ...same(200, { deliveries: [{ kind: "case.created", state: "waiting" }] }),
  },
  "POST deliveries-replay": {
    call: async (lender) => {
      await anEvent(lender, "parked");
      return { path: `${DELIVERIES}/replay`, body: { ratePerSecond: 5 } };
    },
    meanwhile: () => sql("update webhooks.replay set state = 'done', finished_at = now()"),
    ...same(202, { count: 1, ratePerSecond: 5 }),
  },
  "POST deliveries-replay, while another one runs": {
    call: async (lender) => {
      await anEvent(lender, "delivered");
      await lender.call("POST", `${DELIVERIES}/replay`, { state: "delivered", ratePerSecond: 7 });
      return { path: `${DELIVERIES}/replay`, body: { state: "delivered", ratePerSecond: 5 } };
    },
    meanwhile: () => sql("update webhooks.replay set state = 'done', finished_at = now()"),
    ...same(202, { count: 1, ratePerSecond: 7 }),
  },
  "POST deliveries-replay, as a rehearsal": {
    call: async (lender) => {
      await anEvent(lender, "parked");
      return { path: `${DELIVERIES}/replay?dryRun` };
    },
    ...same(200, { dryRun: true, count: 1 }),
  },
  "GET deliveries-get": {
    call: async (lender) => ({ path: `${DELIVERIES}/${await anEvent(lender, "delivered")}` }),
    ...same(200, { state: "delivered", attempts: 7 }),
  },
  "POST deliveries-replay-one": {
    call: async (lender) => ({ path: `${DELIVERIES}/${await anEvent(lender, "parked")}/replay` }),
    meanwhile: (lender) => settle(lender, "delivered"),
    ...same(202, { state: "waiting" }),
  },
  "GET replays-get": {
    call: async (lender) => {
      await anEvent(lender, "parked");
      const { body } = await lender.call("POST", `${DELIVERIES}/replay`);
      return { path: `${PARTNER}/webhooks/replays/${String(body["replayId"])}` };
    },
    ...same(200, { state: "running", count: 1 }),
  },
  "POST debug-signature": {
    call: () => ({
      path: `${PARTNER}/debug/signature`,
      body: { method: "GET", path: `${PARTNER}/health`, timestamp: "1", signature: "00" },
    }),
    ...same(200, { signatureMatches: false }),
  },
};

// Handlers are not called: the table is known without a service.
const endpoints = partnerEndpoints({ credentials: {}, config: {} } as never);
const calls = endpoints.flatMap(({ name, path, methods }) =>
  Object.keys(methods).map((method) => ({ name, method, path })),
);

test("every endpoint of the router has a scene", () => {
  const shown = new Set(Object.keys(scenes).map((name) => name.split(",", 1)[0]));
  expect(shown).toEqual(new Set(calls.map(({ method, name }) => `${method} ${name}`)));
});

test("the contract says of every endpoint what a repeat does", async () => {
  const contract = await readFile(new URL("../../../docs/interface.md", import.meta.url), "utf8");
  const [, section = ""] = /^## Repeating a call$([\s\S]*?)^## /m.exec(contract)!;
  const listed = [...section.matchAll(/^\| `((?:GET|POST) [^`]+)`/gm)].map(([, call]) => call);
  const paths = calls.map(
    ({ method, path }) => `${method} ${path.replace(PARTNER, "…").replaceAll(/:(\w+)/g, "{$1}")}`,
  );
  expect(new Set(listed)).toEqual(new Set(paths));
});

describe.each(Object.entries(scenes))("%s", (name, scene) => {
  const method = name.split(" ", 1)[0]!;

  test("does once what comes twice, after each other", async () => {
    const { bytes } = await aCall(method, scene);
    expect(await answerTo(service.url, bytes)).toMatchObject(scene.first);
    const before = await allRows(service.app);
    const answers = [await answerTo(service.url, bytes), await answerTo(service.url, bytes)];
    for (const answer of answers) expect(answer).toMatchObject(scene.repeat);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("takes nothing back that happened between a lost answer and the repeat", async () => {
    const { lender, bytes } = await aCall(method, scene);
    await loseAnswer(service.url, bytes);
    await scene.meanwhile?.(lender);
    const before = await allRows(service.app);
    expect(await answerTo(service.url, bytes)).toMatchObject(scene.repeat);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("does once what comes four times at once, also when those who sent it have gone", async () => {
    const once = await aCall(method, scene);
    await answerTo(service.url, once.bytes);
    const often = await aCall(method, scene);
    const answeredBefore = await answersOf(name);
    await Promise.all([leaveAfter(service.url, often.bytes), leaveAfter(service.url, often.bytes)]);
    const answers = await Promise.all([answerTo(service.url, often.bytes), answerTo(service.url, often.bytes)]);
    const codes = [scene.first, scene.repeat].map((answer) => (answer as Answer).status);
    for (const { status } of answers) expect(codes).toContain(status);
    await expect.poll(() => answersOf(name)).toBe(answeredBefore + 4);
    const rows = await allRows(service.app);
    expect(rowsOf(often.lender, rows)).toEqual(rowsOf(once.lender, rows));
  });
});

describe("the same signed bytes with another query string", () => {
  const queries = ["x=1", "dryRun", "dryRun=false", "atomic", "atomic=0&dryRun=1"];
  const posts = Object.entries(scenes).filter(([name]) => name.startsWith("POST"));

  test.each(posts)("%s: executes nothing and gives the first answer", async (_name, scene) => {
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

  test("does not apply the rows of a rehearsal", async () => {
    const { lender, bytes } = await anImport([aRow("LN-1")], "dryRun=true");
    const rehearsed = { status: 200, body: { dryRun: true, importId: null, summary: { created: 1 } } };
    expect(await answerTo(service.url, bytes)).toMatchObject(rehearsed);
    for (const query of ["", "dryRun=false", "atomic", "x=1"]) {
      expect(await answerTo(service.url, withQuery(bytes, query)), query).toMatchObject(rehearsed);
    }
    expect((await lender.getCase("LN-1")).status).toBe(404);
  });

  test("does not apply the good rows of a refused atomic import, also when the reason has gone", async () => {
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

  test("keeps an import that took its good rows an answer of 200, also when the repeat says atomic", async () => {
    const { bytes } = await anImport([aRow("LN-1"), { sourceLoanNumber: "LN-2", action: "hold" }]);
    const { body } = await answerTo(service.url, bytes);
    expect(await answerTo(service.url, withQuery(bytes, "atomic"))).toMatchObject({
      status: 200,
      body: { importId: body["importId"], dryRun: false, summary: { unchanged: 1, rejected: 1 } },
    });
  });

  test("is judged by one of the requests when several come at once", async () => {
    for (let round = 0; round < 8; round += 1) {
      const { lender, bytes } = await anImport([aRow("LN-1")]);
      const queries = round % 2 === 0 ? ["dryRun", "", "atomic", "dryRun"] : ["", "dryRun", "dryRun", "x=1"];
      const answers = await Promise.all(queries.map((query) => answerTo(service.url, withQuery(bytes, query))));
      const dryRuns = new Set(answers.map(({ body }) => body["dryRun"]));
      expect(dryRuns.size).toBe(1);
      expect((await lender.getCase("LN-1")).status).toBe(dryRuns.has(true) ? 404 : 200);
    }
  });

  test("is the same request with the signature in capitals and spaces around it", async () => {
    const { lender, bytes } = await anImport([aRow("LN-1")]);
    await answerTo(service.url, bytes);
    await lender.confirm("LN-1", payment({ amount: 5000 }));
    const shouted = bytes.replace(/^(X-Service-Signature:)(.*)$/m, (_, name, value: string) => {
      return `${String(name)} \t${value.toUpperCase()}\t `.trimEnd();
    });
    expect(shouted).not.toBe(bytes);
    expect((await answerTo(service.url, shouted)).body).toMatchObject({ summary: { unchanged: 1 } });
  });

  test("applies the rows when the request was refused as a whole before", async () => {
    const { bytes } = await anImport([aRow("LN-1")], "dryRun=maybe");
    expect(await answerTo(service.url, bytes)).toMatchObject({ status: 422, body: { code: "INVALID_ENUM" } });
    expect((await answerTo(service.url, withQuery(bytes, ""))).body).toMatchObject({ summary: { created: 1 } });
  });

  test("does not start a replay after a count, and does not count after a replay", async () => {
    const { bytes } = await aCall("POST", scenes["POST deliveries-replay, as a rehearsal"]!);
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

test("an event is sent again once for each signed request, in whatever order their repeats come", async () => {
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

test("a request without a query string has the id that the version before gave it", () => {
  const headers = { "x-service-signature": "BD00db74ca43bdb980b5b174a9d9e4147b2c959ced8a1bea6696d023f483d70b" };
  const ids = ["", "dryRun"].map((query) =>
    idOfRequest({ keyId: "lk_1", headers, query: new URLSearchParams(query) } as unknown as SignedRequest),
  );
  expect(new Set(ids)).toEqual(new Set(["fd73b987-8f2e-88e7-a437-c3414f1b2fe3"]));
});

test("what is read of an import again is what its cases are like now", async () => {
  const { lender, bytes } = await aCall("POST", scenes["POST import"]!);
  const first = await answerTo(service.url, bytes);
  await scenes["POST import"]!.meanwhile!(lender);
  const { body } = await answerTo(service.url, bytes);
  expect(body["importId"]).toBe(first.body["importId"]);
  expect(body["results"]).toMatchObject([
    { outcome: "unchanged", status: "collected", outstandingAmount: 0 },
    { outcome: "unchanged", outstandingAmount: 200 },
    { outcome: "unchanged", status: "new", outstandingAmount: 5000 },
    { outcome: "unchanged", status: "new" },
    { outcome: "unchanged", status: "withdrawn" },
    { outcome: "rejected", errors: [{ code: "LOAN_NOT_FOUND" }] },
    { outcome: "rejected", errors: [{ code: "INVALID_PHONE" }] },
    { outcome: "rejected", errors: [{ code: "CURRENCY_MISMATCH" }] },
  ]);
});

test("the same rows, signed anew, are another import", async () => {
  const { lender, bytes } = await aCall("POST", scenes["POST import"]!);
  await answerTo(service.url, bytes);
  const anew = await lender.importCases([aRow("LN-KNOWN", { outstandingAmount: 300 }), aRow("LN-NEW")]);
  expect(anew.body).toMatchObject({ summary: { unchanged: 2 } });
  await lender.confirm("LN-NEW", payment({ amount: 5000 }));
  expect((await lender.importCases([aRow("LN-NEW")])).body).toMatchObject({ summary: { reopened: 1 } });
});

/** A new lender, and the bytes of its import of these rows. */
function anImport(rows: readonly object[], query = "") {
  return aCall("POST", { call: () => ({ path: `${PARTNER}/cases${query && `?${query}`}`, body: { rows } }) });
}

/** The same signed bytes with another query string, which is not signed. */
function withQuery(bytes: string, query: string): string {
  return bytes.replace(/^(\S+ [^ ?]+)(\?\S*)? /, (_, line: string) => `${line}${query && `?${query}`} `);
}

/** A new lender, brought to the scene, and the bytes of its call: a whole signed request. */
async function aCall(method: string, { call }: Pick<Scene, "call">): Promise<{ lender: Lender; bytes: string }> {
  const twin = await aLender(service);
  const { id } = (await lenderByCode(service.app.database.em(), twin.code))!;
  const lender = Object.assign(twin, { id });
  const { path, body } = await call(lender);
  const text = body === undefined ? "" : JSON.stringify(body);
  const [keyId, secret] = [...lender.secrets][0]!;
  const timestamp = String(Date.now());
  const headers = {
    Host: "service",
    Authorization: `Bearer ${keyId}`,
    ...(text !== "" && { "Content-Type": "application/json" }),
    "Content-Length": Buffer.byteLength(text),
    "X-Service-Timestamp": timestamp,
    "X-Service-Signature": sign(secret, { method, path: path.split("?", 1)[0]!, timestamp, body: text }),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  return { lender, bytes: `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}` };
}

function same(status: number, body: object): Pick<Scene, "first" | "repeat"> {
  return { first: { status, body }, repeat: { status, body } };
}

function payment(fields: object = {}) {
  return { amount: 1000, reference: "pay_1", paidAt: "2026-11-20T09:40:55Z", mode: "upi", ...fields };
}

/** The id of the one event that the lender has, which has come to this state. */
async function anEvent(lender: Lender, state: string): Promise<string> {
  await lender.importCases([aRow("LN-1")]);
  await settle(lender, state);
  const { body } = await lender.call<{ deliveries: { eventId: string }[] }>("GET", DELIVERIES);
  return body.deliveries[0]!.eventId;
}

/** As a worker would. */
function settle({ id }: Lender, state: string): Promise<unknown> {
  return sql("update webhooks.delivery set state = $2, attempts = 7, settled_at = now() where lender_id = $1", [
    id,
    state,
  ]);
}

function sql(text: string, values: unknown[] = []): Promise<unknown> {
  return service.app.database.pool.query(text, values);
}

/** How many requests of an endpoint have been answered so far, whether or not somebody heard it. */
async function answersOf(scene: string): Promise<number> {
  const endpoint = scene.split(/[ ,]/)[1]!;
  const counts = (await service.app.metrics.registry.metrics()).matchAll(
    /^collections_http_request_duration_seconds_count\{endpoint="([^"]+)",[^}]*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, name, count]) => sum + (name === endpoint ? Number(count) : 0), 0);
}
