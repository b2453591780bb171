import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { encodeId } from "../../src/graphql/plumbing/global-id.ts";
import { schema } from "../../src/graphql/schema.ts";
import { startHttpServer } from "../../src/start/http-server.ts";
import { aFieldPartner, startTestService, type TestService, GENEROUS_TIMES } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { answerTo } from "../fixtures/raw-socket.ts";

let service: TestService;
let accessToken: string;
let app: AppClient;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  ({ accessToken } = await aFieldPartner(service));
  app = new AppClient(service.url, accessToken);
});

async function refusalOf(query: string): Promise<{ code: string; message: string }> {
  const { errors = [], data } = await app.ask(query);
  expect(Object.values(data ?? {}).every((value) => value === null)).toBe(true);
  return { code: errors[0]!.extensions.code, message: errors[0]!.message };
}

describe("an operation is rejected", () => {
  const nodes = Array.from({ length: 12 }, () => `"${encodeId("Case", randomUUID())}"`).join(", ");
  const visits = "visits(first: 100) { edges { node { note } } }";
  const deep = "edges { node { visits { edges { node { visitId } } } } }";

  test.each([
    ["nested lists", `{ cases(first: 100) { edges { node { ${visits} } } } }`],
    ["many aliases", `{ ${Array.from({ length: 35 }, (_, place) => `a${place}: cases { ${deep} }`).join(" ")} }`],
    ["many nodes", `{ nodes(ids: [${nodes}]) { ... on Case { ${visits} } } }`],
    [
      "a fragment that is used often",
      `{ ${Array.from({ length: 30 }, (_, place) => `a${place}: cases { ...Page }`).join(" ")} }
       fragment Page on QueryCasesConnection { ${deep} }`,
    ],
    [
      "many short lists",
      `{ ${Array.from({ length: 80 }, (_, place) => `a${place}: cases(first: 12) { edges { cursor } }`).join(" ")} }`,
    ],
    [
      "ten mutations",
      `mutation { ${Array.from({ length: 10 }, (_, place) => `a${place}: signOut(input: { idempotencyKey: "019aa3b9-03f0-7a11-8c2d-3e4f5061728${place}" }) { __typename }`).join(" ")} }`,
    ],
    ["a list with the largest possible `first`", "{ cases(first: 2147483647) { edges { cursor } } }"],
  ])("for its cost, which the error states: %s", async (_, query) => {
    const { code, message } = await refusalOf(query);
    expect(code).toBe("TOO_COMPLEX");
    expect(message).toMatch(/^An operation may have a complexity of 1000; this one has \d+: ask for less at a time\.$/);
  });

  test("for fragments that spread each other in a circle", async () => {
    const circle = "{ cases { edges { node { ...A } } } } fragment A on Case { id ...B } fragment B on Case { ...A }";
    expect(await refusalOf(circle)).toMatchObject({
      code: "BAD_INPUT",
      message: 'Cannot spread fragment "A" within itself via "B".',
    });
  });

  test("for more than 2000 tokens, before it is parsed", async () => {
    const directives = `{ viewer ${"@include(if: true) ".repeat(400)} { id } }`;
    expect((await refusalOf(directives)).message).toContain("2000 tokens");
  });

  test.each([
    ["400 fields and fragments selected", `{ ${"viewer ".repeat(401)}`],
    [
      "400 fields and fragments selected",
      `{ ${Array.from({ length: 201 }, (_, at) => `a${at}: viewer { id }`).join(" ")}`,
    ],
    ["400 fields and fragments selected", `{ ${"... { ".repeat(401)}`],
    ["50 fragments defined", `${fragmentsInACircle(51)} {`],
    ["65536 characters", `# ${"x".repeat(65_536)}`],
  ])("for more than %s, before it is parsed", async (limit, query) => {
    // These GraphQL documents are truncated. If the service parsed them, the answer would be a syntax error.
    const { code, message } = await refusalOf(query);
    expect({ code, message }).toEqual({
      code: "TOO_COMPLEX",
      message: `A document may have ${limit}; this one has more: ask for less at a time.`,
    });
  });

  test("for a circle of fragments that would overflow the stack of the validation", async () => {
    expect(await refusalOf(`{ viewer { ...F0 } } ${fragmentsInACircle(99)}`)).toMatchObject({ code: "TOO_COMPLEX" });
    expect(await refusalOf(`{ viewer { ...F0 } } ${fragmentsInACircle(50)}`)).toMatchObject({ code: "BAD_INPUT" });
  });

  test.each(["scalar X", "extend type Query { x: Int }", '"A type" type X { x: Int }', "directive @x on FIELD"])(
    "for a definition of a type or a directive, whatever follows it: %s",
    async (definition) => {
      const refused = {
        code: "BAD_INPUT",
        message: "A document may define operations and fragments only, no types or directives.",
      };
      expect(await refusalOf(`${definition} { viewer { ...F0 } } ${fragmentsInACircle(99)}`)).toEqual(refused);
      expect(await refusalOf(`${definition} { viewer { ${"id ".repeat(900)} } }`)).toEqual(refused);
      expect(await refusalOf(`{ viewer { id } } ${definition}`)).toEqual(refused);
    },
  );

  test("for hundreds of unknown directives, with a short answer", async () => {
    const { errors } = await app.ask(`{ viewer ${"@a ".repeat(900)} { id } }`);
    expect(errors!.length).toBeLessThanOrEqual(101);
    expect(JSON.stringify(errors).length).toBeLessThan(64 * 1024);
    expect((await refusalOf("{ viewer @skip(if: false) @skip(if: false) { id } }")).code).toBe("BAD_INPUT");
  });
});

test("the longest path through the schema that passes no type twice has at most ten levels", () => {
  expect(longestPath()).toBeLessThanOrEqual(10);
});

/** Returns the definitions of GraphQL fragments. Each spreads the next two, and the last ones spread the first. */
function fragmentsInACircle(count: number): string {
  const fragments = Array.from({ length: count }, (_, at) => {
    const [next, secondNext] = [(at + 1) % count, (at + 2) % count];
    return `fragment F${at} on FieldPartner { ...F${next} ...F${secondNext} }`;
  });
  return fragments.join(" ");
}

/**
 * Returns the number of levels of the longest path through the schema that passes no type twice. Deeper paths repeat
 * types.
 */
function longestPath(type = schema.getQueryType()!, seen: readonly string[] = []): number {
  const below = Object.values(type.getFields()).map((field) => {
    const named = schema.getType(String(field.type).replaceAll(/[![\]]/g, ""))!;
    const isObject = "getFields" in named && !seen.includes(named.name);
    return isObject ? longestPath(named as typeof type, [...seen, type.name, named.name]) : 0;
  });
  return 1 + Math.max(...below);
}

describe("a GraphQL request body", () => {
  function bytes(length: number | "chunked", body: string): string {
    const size = length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
    return `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${accessToken}\r\nContent-Type: application/json\r\nConnection: close\r\n${size}\r\n\r\n${body}`;
  }

  test("with a Content-Length of more than 256 KiB gets 413 before it arrives", async () => {
    const { status, body } = await answerTo(service.url, bytes(10 * 1024 * 1024, '{"query":"'));
    expect({ status, body }).toMatchObject({ status: 413, body: { errors: [{ extensions: { code: "BAD_INPUT" } }] } });
  });

  test("without a Content-Length gets 413 at 256 KiB", async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    let sent = 0;
    const answered = new Promise<string>((resolve) => {
      socket.once("data", (data) => resolve(String(data)));
      socket.on("error", () => {});
    });
    socket.write(bytes("chunked", ""));
    const timer = setInterval(() => {
      sent += 1;
      socket.write(chunk);
    }, 5);
    expect(await answered).toMatch(/^HTTP\/1\.1 413 /);
    clearInterval(timer);
    socket.destroy();
    expect(sent).toBeGreaterThanOrEqual(4);
  });
});

describe("content negotiation of GraphQL answers", () => {
  async function typesOf(accept: string, query: string) {
    const response = await fetch(app.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept, authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ query }),
    });
    return { status: response.status, type: response.headers.get("content-type")?.split(";", 1)[0] };
  }

  test("gives invalid operations 200 for application/json, and 400 for application/graphql-response+json", async () => {
    const [right, wrong] = ["{ viewer { id } }", "{ viewer { shoeSize } }"];
    const plain = "application/json";
    const own = "application/graphql-response+json";
    expect(await typesOf(plain, right)).toEqual({ status: 200, type: plain });
    expect(await typesOf(plain, wrong)).toEqual({ status: 200, type: plain });
    expect(await typesOf(own, right)).toEqual({ status: 200, type: own });
    expect(await typesOf(own, wrong)).toEqual({ status: 400, type: own });
    expect(await typesOf("*/*", right)).toMatchObject({ status: 200 });
    expect(await typesOf("image/png", right)).toMatchObject({ status: 406 });
  });
});

describe("an unexpected error", () => {
  test("in a resolver leaks no details, and carries the request id of the log", async () => {
    const field = schema.getQueryType()!.getFields()["viewer"]!;
    const { resolve } = field;
    field.resolve = () => {
      throw new TypeError("cannot read password=hunter2 of 10.0.0.7");
    };
    try {
      const { data, errors, headers } = await app.ask("{ viewer { id } sessions { isCurrent } }");
      expect(data).toEqual({ viewer: null, sessions: [{ isCurrent: true }] });
      const extensions = { code: "INTERNAL", requestId: headers.get("x-request-id") };
      const message = "Something went wrong here; try again in a moment.";
      expect(errors).toEqual([{ message, extensions, path: ["viewer"], locations: [{ line: 1, column: 3 }] }]);
    } finally {
      Object.assign(field, { resolve });
    }
  });
});

test("an operation over its time limit gets 503, and works again when the database is unblocked", async () => {
  const server = await startHttpServer(service.app, { ...GENEROUS_TIMES, operationMs: 1_000 });
  const hurried = new AppClient(server.url, accessToken);
  const client = await service.app.database.pool.connect();
  await client.query("begin; lock table cases.collection_case in access exclusive mode");
  const late = await hurried.ask("{ cases { edges { cursor } } }");
  await client.query("rollback");
  client.release();
  expect(late).toMatchObject({ status: 503, data: undefined });
  expect(late.errors).toMatchObject([{ extensions: { code: "INTERNAL", retryAfterS: 2 } }]);
  expect(late.headers.get("retry-after")).toBe("2");
  await expect
    .poll(async () => (await hurried.ask("{ cases { edges { cursor } } }")).data)
    .toEqual({ cases: { edges: [] } });
  await server.stop(1_000);
});
