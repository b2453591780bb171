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
const WHO = "{ viewer { displayName } }";
/** A parser refuses any document that ends like this: an answer other than BAD_INPUT shows that it was not parsed. */
const BROKEN_END = " } ] ?";

let live: TestService;
let sandbox: TestService;
let expiredToken: string;
let accessToken: string;

beforeAll(async () => {
  const settings = { ENVIRONMENT: "live", TRUST_PROXY: "loopback" };
  live = await startTestService({ works: false, settings });
  sandbox = await startTestService({ works: false, settings: { DATABASE_URL: live.databaseUrl } });
  ({ accessToken } = await aFieldPartner(live));
  ({ accessToken: expiredToken } = await aFieldPartner(live));
  const hash = createHash("sha256").update(expiredToken).digest();
  await live.app.database.pool.query(
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

interface Heard {
  readonly status: number;
  readonly type: string | undefined;
  readonly text: string;
  readonly data?: unknown;
  readonly errors?: { message: string; extensions: { code: string; requestId: string; retryAfterS?: number } }[];
}

async function send({ url }: Pick<TestService, "url">, { token, address, accept, body }: Sent): Promise<Heard> {
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

function codesOf({ errors = [] }: Heard): string[] {
  return errors.map(({ extensions }) => extensions.code);
}

const HOSTILE: readonly (readonly [string, string])[] = [
  ["a field that needs a token", WHO],
  ["the same field hundreds of times", `{${"viewer{id}".repeat(390)}}`],
  ["a field behind the alias of a sign-in", "mutation { requestOtp: signOut(input: {}) { __typename } }"],
  ["a sign-in field of the wrong root type", `query { ${SIGN_IN} }`],
  ["a field beside a sign-in", `${ASK.slice(0, -1)} signOut(input: {}) { __typename } }`],
  ["a field in an inline fragment", `${ASK.slice(0, -1)} ... on Mutation { signOut(input: {}) { __typename } } }`],
  ["a field in an inline fragment without a type", `${ASK.slice(0, -1)} ... { ... { signOut } } }`],
  ["a field in an inline fragment on a type of the sign-in", `${ASK.slice(0, -1)} ... on UserError { signOut } }`],
  [
    "a field in a fragment",
    `${ASK.slice(0, -1)} ...Out } fragment Out on Mutation { signOut(input: {}) { __typename } }`,
  ],
  ["a field in a fragment that nothing spreads", `${ASK} fragment Out on Query { viewer { id } }`],
  ["a field in another operation", `${ASK} query Who ${WHO}`],
  ["a field in an operation before it", `query Who ${WHO} ${ASK}`],
  ["a field behind a directive", `${ASK.slice(0, -1)} viewer @skip(if: true) { id } }`],
  ["a field behind braces in a value", `mutation { requestOtp(input: { phone: "}" }) { __typename } signOut }`],
  ["a field behind braces in a default", `mutation Ask($input: X = { a: { b: 1 } }) { ${SIGN_IN} signOut }`],
  ["a field behind a comment", `${ASK.slice(0, -1)} # }\n signOut }`],
  [
    "a field behind a block string",
    `mutation { requestOtp(input: { phone: """ \\""" } """ }) { __typename } signOut }`,
  ],
  ["a subscription", 'subscription { paymentLinkUpdated(id: "requestOtp") { id } }'],
  ["a subscription named as a sign-in", 'subscription requestOtp { requestOtp: paymentLinkUpdated(id: "x") { id } }'],
  ["a sign-in in a comment alone", `${WHO} # requestOtp`],
  ["the schema", getIntrospectionQuery()],
  ["the schema beside a sign-in", `${ASK} query { __schema { types { name } } }`],
  ["a type definition", "type requestOtp { a: Int }"],
  ["no operation", "fragment requestOtp on UserError { code }"],
  ["nothing", "# requestOtp"],
  ["a circle of fragments", "mutation { ...requestOtp } fragment requestOtp on Mutation { ...requestOtp }"],
  ["more than 50 selections", `mutation { ${Array.from({ length: 26 }, (_, at) => `a${at}: ${SIGN_IN}`).join(" ")} }`],
  ["more than 4096 characters", `${ASK} # ${"x".repeat(4_096)}`],
  ["a deep value", `mutation { requestOtp(input: ${"[".repeat(1_000)}${"]".repeat(1_000)}) { __typename } signOut }`],
  ["deep selections", `mutation { requestOtp(input: $input) ${"{ a ".repeat(60)}`],
  ["a sign-in that is cut off", "mutation { requestOtp(input: $input) { __typename }"],
  ["a sign-in with a character that begins no token", "mutation { requestOtp(input: ?) { __typename } }"],
];

describe("without a valid token a document is refused before it is parsed:", () => {
  test.each(HOSTILE)("%s", async (_, document) => {
    const variables = { input: { phone: "+919800000001", idempotencyKey: randomUUID() } };
    for (const query of [document, document + BROKEN_END]) {
      for (const token of [undefined, UNKNOWN_TOKEN, "fpt_junk", expiredToken]) {
        const heard = await send(live, { token, body: { query, variables, operationName: "Ask" } });
        expect({ status: heard.status, data: heard.data, codes: codesOf(heard) }).toEqual({
          status: 200,
          data: undefined,
          codes: ["UNAUTHENTICATED"],
        });
      }
    }
  });

  test.each([
    ["no JSON", "{", "UNAUTHENTICATED"],
    ["no JSON that names a sign-in", '{"query":"requestOtp"', "BAD_INPUT"],
    ["a batch", [{ query: ASK }], "BAD_INPUT"],
    ["a batch of nothing", "[]", "UNAUTHENTICATED"],
    ["no document", {}, "UNAUTHENTICATED"],
    ["a document that is no text", { query: { requestOtp: 1 } }, "UNAUTHENTICATED"],
    ["a hash", { extensions: { persistedQuery: { version: 1, sha256Hash: "requestOtp" } } }, "UNAUTHENTICATED"],
    ["17 KiB", { query: ASK, variables: { input: { phone: "x".repeat(17_000) } } }, "UNAUTHENTICATED"],
    ["deep JSON", `${"[".repeat(8_000)}"requestOtp"`, "BAD_INPUT"],
    ["a name that is escaped", JSON.stringify({ query: ASK }).replaceAll("Otp", "\\u004ftp"), "UNAUTHENTICATED"],
    ["two queries", `{"query":${JSON.stringify(ASK)},"query":${JSON.stringify(WHO)}}`, "UNAUTHENTICATED"],
  ])("a body with %s", async (_, body, code) => {
    expect(codesOf(await send(live, { body }))).toEqual([code]);
  });

  test("a body without a length, which is not read to its end", async () => {
    const chunks = `4000\r\n${"x".repeat(0x4000)}\r\n`.repeat(2);
    const bytes = `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
    const { status, headers, body } = await answerTo(live.url, bytes);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { errors: [{ extensions: { code: "UNAUTHENTICATED" } }] },
    });
    expect(headers["connection"]).toBe("close");
  });

  test("a body of 100 KB whose token has expired, which a valid token may send", async () => {
    const body = JSON.stringify({ query: WHO, variables: { note: "x".repeat(100_000) } });
    const heard = await send(live, { token: expiredToken, body });
    expect(codesOf(heard)).toEqual(["UNAUTHENTICATED"]);
    expect(await send(live, { token: accessToken, body })).toMatchObject({ data: { viewer: {} } });
  });

  test("a query in the address of a GET request, and a form", async () => {
    const query = encodeURIComponent(`{${"viewer{id}".repeat(390)}`);
    const accept = { headers: { accept: "text/html" } };
    expect((await fetch(`${live.url}/graphql?query=${query}`, accept)).status).toBe(405);
    const page = await fetch(`${sandbox.url}/graphql?query=${query}`, accept);
    expect((await page.text()).slice(0, 100)).toMatch(/^\s*<!doctype html>/i);
    const form = new FormData();
    form.set("operations", JSON.stringify({ query: WHO }));
    expect((await fetch(`${live.url}/graphql`, { method: "POST", body: form })).status).toBe(415);
  });
});

describe("without a token one may", () => {
  const variables = { input: { phone: "x", idempotencyKey: randomUUID() } };

  test("sign in and renew, and nothing else", () => {
    expect([...OPEN_FIELDS]).toEqual(["Mutation.refreshSession", "Mutation.requestOtp", "Mutation.verifyOtp"]);
  });

  test.each([
    ["alone", ASK],
    ["behind an alias", `mutation Ask($input: RequestOtpInput!) { result: ${SIGN_IN} }`],
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
  ])("sign in by a document that has it %s", async (_, query) => {
    for (const token of [undefined, UNKNOWN_TOKEN, expiredToken]) {
      for (const service of [live, sandbox]) {
        const heard = await send(service, { token, body: { query, variables, operationName: "Ask" } });
        expect(heard.errors).toBeUndefined();
        expect(heard.text).toMatch(/"(OtpUnavailable|InvalidPhone)"/);
      }
    }
  });

  test.each(["RequestOtp", "VerifyOtp", "RefreshSession"])("send %s as the guide for apps writes it", async (name) => {
    const query = documentedOperations().get(name)!;
    expect(codesOf(await send(live, { body: { query, variables: {} } }))).toEqual(["BAD_INPUT"]);
  });

  test("read the schema in a sandbox, and only that", async () => {
    const schema = { query: getIntrospectionQuery(), operationName: "IntrospectionQuery" };
    expect(await send(sandbox, { body: schema })).toMatchObject({
      data: { __schema: { queryType: { name: "Query" } } },
    });
    expect(await send(sandbox, { body: { query: '{ __type(name: "Case") { name } __typename }' } })).toMatchObject({
      data: { __type: { name: "Case" }, __typename: "Query" },
    });
    for (const query of [
      `{ __schema { types { name } } viewer { id } }`,
      `{ __schema { types { name } } } query B ${WHO}`,
      `{ __schema { types { name } } ...A } fragment A on Query { viewer { id } }`,
      `subscription { __schema { types { name } } }`,
      `{ ${"__schema { types { name } } ".repeat(70)} }`,
    ]) {
      expect(codesOf(await send(sandbox, { body: { query } }))).toEqual(["UNAUTHENTICATED"]);
    }
  });

  test("hear a refusal as a stream, if one asks for a stream", async () => {
    const body = { query: 'subscription { paymentLinkUpdated(id: "x") { id } }' };
    const heard = await send(live, { accept: "text/event-stream", token: expiredToken, body });
    expect(heard).toMatchObject({ status: 200, type: "text/event-stream" });
    expect(heard.text).toMatch(/event: next\n.*UNAUTHENTICATED.*\n\nevent: complete/s);
  });
});

describe("registered operations", () => {
  test("that sign in are done by their hash, others need a token", async () => {
    const folder = await mkdtemp(join(tmpdir(), "operations-"));
    afterFile(() => rm(folder, { recursive: true }));
    const hashOf = (document: string) => createHash("sha256").update(document).digest("hex");
    // The operator vouches for a document: it may be longer than others.
    const long = `${ASK} # ${"x".repeat(5_000)}`;
    const file = join(folder, "operations.json");
    await writeFile(
      file,
      JSON.stringify(Object.fromEntries([ASK, long, WHO].map((document) => [hashOf(document), document]))),
    );
    const settings = { DATABASE_URL: live.databaseUrl, ENVIRONMENT: "live", PERSISTED_OPERATIONS_FILE: file };
    for (const PERSISTED_OPERATIONS of ["allow", "only"]) {
      const service = await startTestService({ works: false, settings: { ...settings, PERSISTED_OPERATIONS } });
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
      expect(codesOf(await byHash(hashOf(WHO)))).toEqual(["UNAUTHENTICATED"]);
      expect(await byHash(hashOf(WHO), accessToken)).toMatchObject({ data: { viewer: {} } });
      expect((await byHash(hashOf("other"))).errors![0]!.message).toMatch(
        /^No operation is registered under this hash/,
      );
      expect(codesOf(await send(service, { body: { query: WHO + BROKEN_END } }))).toEqual(["UNAUTHENTICATED"]);
    }
  });
});

describe("limits come first:", () => {
  let limited: TestService;
  beforeAll(async () => {
    const settings = { ENVIRONMENT: "live", TRUST_PROXY: "loopback", RATE_LIMITS: "failed-authentication=5,app=5" };
    limited = await startTestService({ works: false, settings: { ...settings, DATABASE_URL: live.databaseUrl } });
  });

  test("an address over its limit is answered 429, also for a body that cannot be read, and may still sign in", async () => {
    const address = "203.0.113.20";
    const bodies = [
      "{",
      JSON.stringify({ query: "{" }),
      JSON.stringify({ query: WHO }),
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
    expect(await send(limited, { address, token: accessToken, body: { query: WHO } })).toMatchObject({
      data: { viewer: {} },
    });
  });

  test("a field partner over theirs is answered RATE_LIMITED, also for a body that cannot be read", async () => {
    const { accessToken: token } = await aFieldPartner(limited);
    await Promise.all(Array.from({ length: 5 }, () => send(limited, { token, body: { query: WHO } })));
    for (const body of ["{", JSON.stringify({ query: "{" }), "x".repeat(200_000)]) {
      expect(await send(limited, { token, body })).toMatchObject({
        status: 429,
        errors: [{ extensions: { code: "RATE_LIMITED" } }],
      });
    }
  });
});

test("a flood of invalid tokens takes two connections to the database at most, and does not keep out valid ones", async () => {
  const { pool } = live.app.database;
  const blocker = await pool.connect();
  const waiting =
    "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and query like '%access_token_hash%'";
  await blocker.query("begin; lock table field_partners.token_pair in access exclusive mode");
  const tokens = Array.from({ length: 150 }, (_, at) => `fpt_${String(at).padStart(43, "A")}`);
  const answers = Promise.all([...tokens, accessToken].map((token) => send(live, { token, body: { query: WHO } })));
  await pause(500);
  const { rows } = await blocker.query<{ count: number }>(waiting);
  await blocker.query("rollback");
  blocker.release();
  const heard = await answers;
  expect(rows).toEqual([{ count: 2 }]);
  expect(heard.pop()).toMatchObject({ data: { viewer: { displayName: "Asha Rao" } } });
  expect(new Set(heard.flatMap(codesOf))).toEqual(new Set(["UNAUTHENTICATED"]));
});
