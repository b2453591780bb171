import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterFile } from "@collections/testing";
import { getIntrospectionQuery } from "graphql";
import { beforeAll, describe, expect, test } from "vitest";
import { OPEN_FIELDS } from "../../src/graphql/requests/open-requests.ts";
import { documentedOperations } from "../fixtures/documented-operations.ts";
import { aFieldPartner, startTestService, type TestService } from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";

const UNKNOWN_TOKEN = `fpt_${"A".repeat(43)}`;
const SIGN_IN = "requestOtp(input: $input) { __typename }";
const ASK = `mutation Ask($input: RequestOtpInput!) { ${SIGN_IN} }`;
const VIEWER_QUERY = "{ viewer { displayName } }";
/**
 * Makes any GraphQL document a syntax error when it is appended. If the service then answers with another code than
 * BAD_INPUT, it has rejected the request without parsing the document.
 */
const BROKEN_END = " } ] ?";

let production: TestService;
let sandbox: TestService;
let expiredToken: string;
let accessToken: string;

beforeAll(async () => {
  const settings = { ENVIRONMENT: "live", TRUST_PROXY: "loopback" };
  production = await startTestService({ hasWorker: false, settings });
  sandbox = await startTestService({ hasWorker: false, settings: { DATABASE_URL: production.databaseUrl } });
  ({ accessToken } = await aFieldPartner(production));
  ({ accessToken: expiredToken } = await aFieldPartner(production));
  const hash = createHash("sha256").update(expiredToken).digest();
  await production.app.database.pool.query(
    "update field_partners.token_pair set access_expires_at = now() - interval '1 s' where access_token_hash = $1",
    [hash],
  );
});

interface Sent {
  readonly token?: string | undefined;
  readonly address?: string;
  readonly accept?: string;
  readonly body: string | object;
}

interface ReceivedAnswer {
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
  readonly data?: unknown;
  readonly errors?: { message: string; extensions: { code: string; requestId: string; retryAfterS?: number } }[];
}

async function send(
  { url }: Pick<TestService, "url">,
  { token, address, accept, body }: Sent,
): Promise<ReceivedAnswer> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: accept ?? "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(address !== undefined && { "x-forwarded-for": address }),
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const type = response.headers.get("content-type")?.split(";", 1)[0];
  const json = type === "text/event-stream" ? /^data: (.+)$/m.exec(text)![1]! : text;
  return { status: response.status, type, text, ...(JSON.parse(json) as object) };
}

function codesOf({ errors = [] }: ReceivedAnswer): string[] {
  return errors.map(({ extensions }) => extensions.code);
}

const HOSTILE: readonly (readonly [string, string])[] = [
  ["a field that needs a token", VIEWER_QUERY],
  ["the same field hundreds of times", `{${"viewer{id}".repeat(390)}}`],
  ["a field with a sign-in mutation as its alias", "mutation { requestOtp: signOut(input: {}) { __typename } }"],
  ["a sign-in field of the wrong root type", `query { ${SIGN_IN} }`],
  ["a field beside a sign-in", `${ASK.slice(0, -1)} signOut(input: {}) { __typename } }`],
  ["a field in an inline fragment", `${ASK.slice(0, -1)} ... on Mutation { signOut(input: {}) { __typename } } }`],
  ["a field in an inline fragment without a type", `${ASK.slice(0, -1)} ... { ... { signOut } } }`],
  ["a field in an inline fragment on a type of the sign-in", `${ASK.slice(0, -1)} ... on UserError { signOut } }`],
  [
    "a field in a fragment",
    `${ASK.slice(0, -1)} ...Out } fragment Out on Mutation { signOut(input: {}) { __typename } }`,
  ],
  ["a field in an unused fragment", `${ASK} fragment Out on Query { viewer { id } }`],
  ["a field in another operation", `${ASK} query Who ${VIEWER_QUERY}`],
  ["a field in an operation before the sign-in", `query Who ${VIEWER_QUERY} ${ASK}`],
  ["a field with a directive", `${ASK.slice(0, -1)} viewer @skip(if: true) { id } }`],
  ["a field after braces in a value", `mutation { requestOtp(input: { phone: "}" }) { __typename } signOut }`],
  ["a field after braces in a default", `mutation Ask($input: X = { a: { b: 1 } }) { ${SIGN_IN} signOut }`],
  ["a field after a comment", `${ASK.slice(0, -1)} # }\n signOut }`],
  ["a field after a block string", `mutation { requestOtp(input: { phone: """ \\""" } """ }) { __typename } signOut }`],
  ["a subscription", 'subscription { paymentLinkUpdated(id: "requestOtp") { id } }'],
  ["a subscription named as a sign-in", 'subscription requestOtp { requestOtp: paymentLinkUpdated(id: "x") { id } }'],
  ["a sign-in only in a comment", `${VIEWER_QUERY} # requestOtp`],
  ["an introspection query", getIntrospectionQuery()],
  ["an introspection query beside a sign-in", `${ASK} query { __schema { types { name } } }`],
  ["a type definition", "type requestOtp { a: Int }"],
  ["no operation", "fragment requestOtp on UserError { code }"],
  ["a comment only", "# requestOtp"],
  ["a circle of fragments", "mutation { ...requestOtp } fragment requestOtp on Mutation { ...requestOtp }"],
  ["more than 50 selections", `mutation { ${Array.from({ length: 26 }, (_, at) => `a${at}: ${SIGN_IN}`).join(" ")} }`],
  ["more than 4096 characters", `${ASK} # ${"x".repeat(4_096)}`],
  [
    "a deeply nested value",
    `mutation { requestOtp(input: ${"[".repeat(1_000)}${"]".repeat(1_000)}) { __typename } signOut }`,
  ],
  ["deeply nested selections", `mutation { requestOtp(input: $input) ${"{ a ".repeat(60)}`],
  ["a truncated sign-in", "mutation { requestOtp(input: $input) { __typename }"],
  ["a sign-in with a character that GraphQL does not know", "mutation { requestOtp(input: ?) { __typename } }"],
];

describe("a request without a valid access token is rejected before its GraphQL document is parsed:", () => {
  test.each(HOSTILE)("%s", async (_, document) => {
    const variables = { input: { phone: "+919800000001", idempotencyKey: randomUUID() } };
    for (const query of [document, document + BROKEN_END]) {
      for (const token of [undefined, UNKNOWN_TOKEN, "fpt_junk", expiredToken]) {
        const answer = await send(production, { token, body: { query, variables, operationName: "Ask" } });
        expect({ status: answer.status, data: answer.data, codes: codesOf(answer) }).toEqual({
          status: 200,
          data: undefined,
          codes: ["UNAUTHENTICATED"],
        });
      }
    }
  });

  test.each([
    ["text that is not JSON", "{", "UNAUTHENTICATED"],
    ["text that is not JSON and names a sign-in", '{"query":"requestOtp"', "BAD_INPUT"],
    ["a batch", [{ query: ASK }], "BAD_INPUT"],
    ["an empty batch", "[]", "UNAUTHENTICATED"],
    ["no document", {}, "UNAUTHENTICATED"],
    ["a document that is not a string", { query: { requestOtp: 1 } }, "UNAUTHENTICATED"],
    ["the id of a registered operation", { documentId: "requestOtp" }, "UNAUTHENTICATED"],
    [
      "the hash of an automatic persisted query",
      { extensions: { persistedQuery: { version: 1, sha256Hash: "requestOtp" } } },
      "BAD_INPUT",
    ],
    ["17 KiB", { query: ASK, variables: { input: { phone: "x".repeat(17_000) } } }, "UNAUTHENTICATED"],
    ["deeply nested JSON", `${"[".repeat(8_000)}"requestOtp"`, "BAD_INPUT"],
    ["an escaped mutation name", JSON.stringify({ query: ASK }).replaceAll("Otp", "\\u004ftp"), "UNAUTHENTICATED"],
    ["two queries", `{"query":${JSON.stringify(ASK)},"query":${JSON.stringify(VIEWER_QUERY)}}`, "UNAUTHENTICATED"],
  ])("a body that has %s", async (_, body, code) => {
    expect(codesOf(await send(production, { body }))).toEqual([code]);
  });

  test("a chunked body, which is not read to its end", async () => {
    const chunks = `4000\r\n${"x".repeat(0x4000)}\r\n`.repeat(2);
    const bytes = `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
    const { status, headers, body } = await answerTo(production.url, bytes);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { errors: [{ extensions: { code: "UNAUTHENTICATED" } }] },
    });
    expect(headers["connection"]).toBe("close");
  });

  test("a body of 100 KB with an expired token, although it is accepted with a valid one", async () => {
    const body = JSON.stringify({ query: VIEWER_QUERY, variables: { note: "x".repeat(100_000) } });
    const answer = await send(production, { token: expiredToken, body });
    expect(codesOf(answer)).toEqual(["UNAUTHENTICATED"]);
    expect(await send(production, { token: accessToken, body })).toMatchObject({ data: { viewer: {} } });
  });

  test("a query in the URL of a GET request, and a form", async () => {
    const query = encodeURIComponent(`{${"viewer{id}".repeat(390)}`);
    const accept = { headers: { accept: "text/html" } };
    expect((await fetch(`${production.url}/graphql?query=${query}`, accept)).status).toBe(405);
    const page = await fetch(`${sandbox.url}/graphql?query=${query}`, accept);
    expect((await page.text()).slice(0, 100)).toMatch(/^\s*<!doctype html>/i);
    const form = new FormData();
    form.set("operations", JSON.stringify({ query: VIEWER_QUERY }));
    expect((await fetch(`${production.url}/graphql`, { method: "POST", body: form })).status).toBe(415);
  });
});

describe("a request without an access token", () => {
  const variables = { input: { phone: "x", idempotencyKey: randomUUID() } };

  test("may use the mutations for signing in and renewing, and no other field", () => {
    expect([...OPEN_FIELDS].toSorted()).toEqual([
      "Mutation.refreshSession",
      "Mutation.requestOtp",
      "Mutation.verifyOtp",
    ]);
  });

  test.each([
    ["as its only operation", ASK],
    ["under an alias", `mutation Ask($input: RequestOtpInput!) { result: ${SIGN_IN} }`],
    ["in a fragment", `mutation Ask($input: RequestOtpInput!) { ...A } fragment A on Mutation { ${SIGN_IN} }`],
    [
      "with fragments on its result",
      `mutation Ask($input: RequestOtpInput!) { requestOtp(input: $input) { __typename ...Refusal } } fragment Refusal on UserError { code }`,
    ],
    [
      "beside its renewal",
      `${ASK} mutation Renew($renewal: RefreshSessionInput!) { refreshSession(input: $renewal) { __typename } }`,
    ],
    [
      "with directives and comments",
      `# Ask\nmutation Ask($input: RequestOtpInput!) { ${SIGN_IN} __typename @skip(if: true) }`,
    ],
  ])("may sign in by a GraphQL document that has the mutation %s", async (_, query) => {
    for (const token of [undefined, UNKNOWN_TOKEN, expiredToken]) {
      for (const service of [production, sandbox]) {
        const answer = await send(service, { token, body: { query, variables, operationName: "Ask" } });
        expect(answer.errors).toBeUndefined();
        expect(answer.text).toMatch(/"(OtpUnavailable|InvalidPhone)"/);
      }
    }
  });

  test.each(["RequestOtp", "VerifyOtp", "RefreshSession"])(
    "may send the operation %s of the guide for apps",
    async (name) => {
      const query = documentedOperations().get(name)!;
      expect(codesOf(await send(production, { body: { query, variables: {} } }))).toEqual(["BAD_INPUT"]);
    },
  );

  test("may read the schema in a sandbox, but no other field in the same GraphQL document", async () => {
    const schema = { query: getIntrospectionQuery(), operationName: "IntrospectionQuery" };
    expect(await send(sandbox, { body: schema })).toMatchObject({
      data: { __schema: { queryType: { name: "Query" } } },
    });
    expect(await send(sandbox, { body: { query: '{ __type(name: "Case") { name } __typename }' } })).toMatchObject({
      data: { __type: { name: "Case" }, __typename: "Query" },
    });
    for (const query of [
      `{ __schema { types { name } } viewer { id } }`,
      `{ __schema { types { name } } } query B ${VIEWER_QUERY}`,
      `{ __schema { types { name } } ...A } fragment A on Query { viewer { id } }`,
      `subscription { __schema { types { name } } }`,
      `{ ${"__schema { types { name } } ".repeat(70)} }`,
    ]) {
      expect(codesOf(await send(sandbox, { body: { query } }))).toEqual(["UNAUTHENTICATED"]);
    }
  });

  test("gets its error as an event stream if it accepts only an event stream", async () => {
    const body = { query: 'subscription { paymentLinkUpdated(id: "x") { id } }' };
    const answer = await send(production, { accept: "text/event-stream", token: expiredToken, body });
    expect(answer).toMatchObject({ status: 200, type: "text/event-stream" });
    expect(answer.text).toMatch(/event: next\n.*UNAUTHENTICATED.*\n\nevent: complete/s);
  });
});

describe("registered operations before sign-in", () => {
  test("are executed by their hash without an access token only if they sign in", async () => {
    const folder = await mkdtemp(join(tmpdir(), "operations-"));
    afterFile(() => rm(folder, { recursive: true }));
    const hashOf = (document: string) => createHash("sha256").update(document).digest("hex");
    // Before sign-in, a registered GraphQL document may be longer than other documents.
    const long = `${ASK} # ${"x".repeat(5_000)}`;
    const file = join(folder, "operations.json");
    await writeFile(
      file,
      JSON.stringify(Object.fromEntries([ASK, long, VIEWER_QUERY].map((document) => [hashOf(document), document]))),
    );
    const settings = { DATABASE_URL: production.databaseUrl, ENVIRONMENT: "live", PERSISTED_OPERATIONS_FILE: file };
    for (const PERSISTED_OPERATIONS of ["allow", "only"]) {
      const service = await startTestService({ hasWorker: false, settings: { ...settings, PERSISTED_OPERATIONS } });
      const byHash = (sha256Hash: string, token?: string) => {
        const variables = { input: { phone: "x", idempotencyKey: randomUUID() } };
        const extensions = { persistedQuery: { version: 1, sha256Hash } };
        return send(service, { token, body: { variables, extensions } });
      };
      for (const document of [ASK, long]) {
        expect(await byHash(hashOf(document))).toMatchObject({
          data: { requestOtp: { __typename: "OtpUnavailable" } },
        });
      }
      expect(codesOf(await byHash(hashOf(VIEWER_QUERY)))).toEqual(["UNAUTHENTICATED"]);
      expect(await byHash(hashOf(VIEWER_QUERY), accessToken)).toMatchObject({ data: { viewer: {} } });
      expect((await byHash(hashOf("other"))).errors![0]!.message).toMatch(
        PERSISTED_OPERATIONS === "only" ? /^No operation is registered under this hash/ : /^PersistedQueryNotFound$/,
      );
      expect(codesOf(await send(service, { body: { query: VIEWER_QUERY + BROKEN_END } }))).toEqual(["UNAUTHENTICATED"]);
    }
  });
});

describe("rate limits are checked before the body is read:", () => {
  let limited: TestService;
  beforeAll(async () => {
    const settings = { ENVIRONMENT: "live", TRUST_PROXY: "loopback", RATE_LIMITS: "failed-authentication=5,app=5" };
    limited = await startTestService({
      hasWorker: false,
      settings: { ...settings, DATABASE_URL: production.databaseUrl },
    });
  });

  test("an address over its limit gets 429, also for an unreadable body, and can still sign in", async () => {
    const address = "203.0.113.20";
    const bodies = [
      "{",
      JSON.stringify({ query: "{" }),
      JSON.stringify({ query: VIEWER_QUERY }),
      "requestOtp",
      "x".repeat(20_000),
    ];
    const first = await Promise.all(bodies.map((body) => send(limited, { address, body })));
    expect(first.map(codesOf)).toEqual([
      ["UNAUTHENTICATED"],
      ["UNAUTHENTICATED"],
      ["UNAUTHENTICATED"],
      ["BAD_INPUT"],
      ["UNAUTHENTICATED"],
    ]);
    for (const body of bodies) {
      for (const token of [undefined, UNKNOWN_TOKEN, expiredToken]) {
        const { status, errors } = await send(limited, { address, token, body });
        expect({ status, errors }).toMatchObject({
          status: 429,
          errors: [{ extensions: { code: "UNAUTHENTICATED", retryAfterS: expect.any(Number) } }],
        });
      }
    }
    const signIn = { query: ASK, variables: { input: { phone: "x", idempotencyKey: randomUUID() } } };
    expect(await send(limited, { address, body: signIn })).toMatchObject({ data: { requestOtp: {} } });
    expect(await send(limited, { address, token: accessToken, body: { query: VIEWER_QUERY } })).toMatchObject({
      data: { viewer: {} },
    });
  });

  test("a field partner over their limit gets RATE_LIMITED, also for an unreadable body", async () => {
    const { accessToken: token } = await aFieldPartner(limited);
    await Promise.all(Array.from({ length: 5 }, () => send(limited, { token, body: { query: VIEWER_QUERY } })));
    for (const body of ["{", JSON.stringify({ query: "{" }), "x".repeat(200_000)]) {
      expect(await send(limited, { token, body })).toMatchObject({
        status: 429,
        errors: [{ extensions: { code: "RATE_LIMITED" } }],
      });
    }
  });
});

test("a flood of invalid access tokens uses at most two database connections, and valid tokens still get in", async () => {
  const { pool } = production.app.database;
  const blocker = await pool.connect();
  const waiting =
    "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and query like '%access_token_hash%'";
  await blocker.query("begin; lock table field_partners.token_pair in access exclusive mode");
  const tokens = Array.from({ length: 150 }, (_, at) => `fpt_${String(at).padStart(43, "A")}`);
  const answers = Promise.all(
    [...tokens, accessToken].map((token) => send(production, { token, body: { query: VIEWER_QUERY } })),
  );
  // Not by the blocker: within a transaction, PostgreSQL shows the sessions as they were at the first query.
  const count = async () => (await pool.query<{ count: number }>(waiting)).rows[0]!.count;
  await expect.poll(count).toBe(2);
  // Give a third query time to come, which would be a fault.
  await pause(500);
  const connections = await count();
  await blocker.query("rollback");
  blocker.release();
  const received = await answers;
  expect(connections).toBe(2);
  expect(received.pop()).toMatchObject({ data: { viewer: { displayName: "Asha Rao" } } });
  expect(new Set(received.flatMap(codesOf))).toEqual(new Set(["UNAUTHENTICATED"]));
});
