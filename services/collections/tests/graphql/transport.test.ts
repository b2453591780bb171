import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { suspendFieldPartner } from "@collections/field-partners";
import { transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { beforeAll, describe, expect, test } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { aFieldPartner, signOut, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const SOME_ID = Buffer.from("Case:0192f0a1-7c3e-7d42-9c55-0b2f6a1d8e01").toString("base64url");

let service: TestService;
let accessToken: string;
let app: AppClient;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  ({ accessToken } = await aFieldPartner(service));
  app = new AppClient(service.url, accessToken);
});

describe("the caller of a GraphQL operation", () => {
  test("is identified by the access token alone", async () => {
    const { status, data, errors, headers } = await app.ask("{ viewer { displayName timeZone } }");
    expect({ status, data, errors }).toEqual({
      status: 200,
      data: { viewer: { displayName: "Asha Rao", timeZone: "Asia/Kolkata" } },
      errors: undefined,
    });
    expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test.each([
    ["no token", undefined],
    ["an unknown token", `fpt_${"A".repeat(43)}`],
    ["junk", "fpt_'; drop table"],
  ])("with %s gets a GraphQL error for any field", async (_, token) => {
    const stranger = new AppClient(service.url, token);
    const fields = [
      "viewer { id }",
      "cases { pageInfo { hasNextPage } }",
      `node(id: "${SOME_ID}") { id }`,
      "earnings(period: TODAY) { period }",
    ];
    for (const field of fields) {
      const { status, headers, errors } = await stranger.ask(`{ ${field} }`);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toMatch(/^application\/json/);
      expect(errors).toEqual([
        expect.objectContaining({
          message: expect.stringMatching(/^Send Authorization: Bearer <accessToken>\./),
          extensions: { code: "UNAUTHENTICATED", requestId: headers.get("x-request-id") },
        }),
      ]);
    }
  });

  test("gets UNAUTHENTICATED once the token is revoked or the field partner suspended", async () => {
    const [revoked, suspended] = [await aFieldPartner(service), await aFieldPartner(service)];
    const em = service.app.database.em();
    await signOut(service, revoked.accessToken);
    await transaction(em, (tx) => suspendFieldPartner(tx, suspended.id));
    for (const { accessToken } of [revoked, suspended]) {
      const { data, errors } = await new AppClient(service.url, accessToken).ask("{ viewer { id } }");
      expect(data).toBeUndefined();
      expect(errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
    }
  });
});

describe("a request that is not a valid GraphQL request", () => {
  test.each([
    ["GET", { method: "GET" }, 405],
    ["a path below", { path: "/viewer" }, 404],
    ["a query in the URL", { method: "GET", path: "?query={viewer{id}}" }, 405],
    [
      "a form that another site's page could send",
      { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "query={viewer{id}}" },
      415,
    ],
    ["plain text", { headers: { "content-type": "text/plain" }, body: '{"query":"{viewer{id}}"}' }, 415],
    ["bare GraphQL", { headers: { "content-type": "application/graphql" }, body: "{viewer{id}}" }, 415],
    ["text that is not JSON", { body: '{"query":' }, 200],
    ["a number", { body: "7" }, 400],
    ["a batch", { body: '[{"query":"{viewer{id}}"}]' }, 400],
    ["more than 256 KiB", { body: JSON.stringify({ query: `{viewer{id}}#${"x".repeat(256 * 1024)}` }) }, 413],
    ["a compressed body", { headers: { "content-encoding": "gzip" }, body: gzipSync('{"query":"{viewer{id}}"}') }, 200],
  ] as [string, Posted, number][])("gets a GraphQL error with BAD_INPUT: %s", async (_, request, status) => {
    const answer = await post(request);
    expect(answer).toEqual({
      status,
      body: {
        errors: [
          { message: expect.any(String), extensions: { code: "BAD_INPUT", requestId: expect.stringMatching(/^req_/) } },
        ],
      },
    });
  });

  test("gets a GraphQL error for an invalid Host header", async () => {
    const request = httpRequest(app.url, {
      method: "POST",
      headers: { host: "[::", "content-type": "application/json" },
    });
    const [response] = (await once(request.end("{}"), "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(400);
    expect(JSON.parse(await text(response))).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
  });

  test("gets BAD_INPUT with an explanation when the operation does not fit the schema", async () => {
    const { errors } = await app.ask("{ viewer { shoeSize } }");
    expect(errors).toMatchObject([{ message: expect.stringContaining("shoeSize"), extensions: { code: "BAD_INPUT" } }]);
    const unread = await app.ask("query ($id: ID!) { case(id: $id) { id } }", { id: "not an id" });
    expect(unread.errors).toMatchObject([{ extensions: { code: "BAD_INPUT" }, path: ["case"] }]);
    const page = await app.ask(
      '{ cases(first: 101) { pageInfo { hasNextPage } } earningLines(after: "x") { pageInfo { hasNextPage } } }',
    );
    expect(page.errors).toMatchObject([
      { message: "`first` must be from 1 to 100; got 101.", extensions: { code: "BAD_INPUT" } },
      { message: "`after` is not a cursor of this list; start again without it.", extensions: { code: "BAD_INPUT" } },
    ]);
  });
});

describe("the complexity limit of a GraphQL operation", () => {
  test("rejects an operation that costs too much", async () => {
    const list = "edges { node { visits(first: 50) { edges { node { note } } } } }";
    const { errors } = await app.ask(`{ cases(first: 100) { ${list} } }`);
    expect(errors).toMatchObject([{ extensions: { code: "TOO_COMPLEX" } }]);
    const many = Array.from({ length: 150 }, (_, alias) => `a${alias}: cases { pageInfo { hasNextPage } }`).join(" ");
    expect((await app.ask(`{ ${many} }`)).errors?.[0]).toMatchObject({ extensions: { code: "TOO_COMPLEX" } });
  });

  test("rejects an operation with too many fields", async () => {
    const { errors } = await app.ask(`{ ${"viewer ".repeat(2_000)} }`);
    expect(errors).toMatchObject([{ extensions: { code: "TOO_COMPLEX" } }]);
  });

  test("admits an operation that reads all fields of a screen with 20 cases", async () => {
    const { errors } = await app.ask(`{ cases { pageInfo { endCursor hasNextPage } edges { node {
      id caseId loanTail status workable blockedReason dpd bucket lender { code name }
      borrower { displayName maskedPhone language address } outstanding { display } totalCollected { display }
      minimum { display } openPromise { dueOn amount { display } } activeLink { id status url amount { display } }
      estimatedEarning { amount { display } formula } } } } }`);
    expect(errors).toBeUndefined();
  });
});

describe("GraphQL in a production environment", () => {
  let production: AppClient;
  beforeAll(async () => {
    const { url } = await startTestService({
      settings: { DATABASE_URL: service.databaseUrl, ENVIRONMENT: "live" },
      hasWorker: false,
    });
    production = new AppClient(url, accessToken);
  });

  test("does not reveal its schema", async () => {
    const { errors } = await production.ask("{ __schema { types { name } } }");
    expect(errors?.[0]).toMatchObject({ extensions: { code: "BAD_INPUT" } });
    const suggestion = await production.ask("{ viewer { displayNam } }");
    expect(suggestion.errors?.[0]?.message).toBe('Cannot query field "displayNam" on type "FieldPartner".');
    const { status } = await fetch(production.url, { headers: { accept: "text/html" } });
    expect(status).toBe(405);
  });

  test("executes operations", async () => {
    expect((await production.ask("{ viewer { displayName } }")).data).toEqual({ viewer: { displayName: "Asha Rao" } });
  });
});

test("a sandbox serves a page for trying operations, which loads nothing from other origins", async () => {
  expect((await app.ask("{ __schema { queryType { name } } }")).data).toEqual({
    __schema: { queryType: { name: "Query" } },
  });
  const page = await fetch(app.url, { headers: { accept: "text/html" } });
  expect(page.status).toBe(200);
  expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none';connect-src 'self';/);
  expect(await page.text()).not.toMatch(/<(?:script|link)[^>]+(?:src|href)="?https?:/);
});

test("an unexpected error leaks no details to the caller", async () => {
  const { database } = service.app;
  const broken = {
    ...database,
    em: () => {
      throw new Error("password=hunter2 at 10.0.0.7");
    },
  };
  const server = await startHttpServer({ ...service.app, database: broken });
  const answer = await new AppClient(server.url, accessToken).ask("{ viewer { id } }");
  expect(answer).toMatchObject({
    status: 500,
    errors: [
      {
        message: "Something went wrong here; try again in a moment.",
        extensions: { code: "INTERNAL", requestId: answer.headers.get("x-request-id") },
      },
    ],
  });
  expect(JSON.stringify(answer)).not.toContain("hunter2");
  await server.stop(1_000);
});

test("an unavailable database is answered with 503 and Retry-After", async () => {
  const database = await createDatabase({ url: "postgres://nobody@127.0.0.1:1/nothing", schemas, jobsSchema });
  const server = await startHttpServer({ ...service.app, database });
  const answer = await new AppClient(server.url, accessToken).ask("{ viewer { id } }");
  expect(answer).toMatchObject({ status: 503, errors: [{ extensions: { code: "INTERNAL" } }] });
  expect(answer.headers.get("retry-after")).toBe("2");
  expect(answer.errors).toHaveLength(1);
  expect(answer.errors![0]!.extensions).not.toHaveProperty("http");
  await server.stop(1_000);
  await database.close();
});

interface Posted {
  path?: string;
  method?: string;
  headers?: object;
  body?: string | Buffer;
}

async function post({ path = "", headers, ...request }: Posted): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${app.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${accessToken}`, ...headers },
    ...request,
  } as RequestInit);
  return { status: response.status, body: await response.json() };
}
