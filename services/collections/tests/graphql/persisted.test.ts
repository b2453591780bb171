import { apolloWithHashes, gql } from "@collections/graphql-clients";
import { randomUUID } from "node:crypto";
import { mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { InvalidConfigError } from "../../src/settings/config.ts";
import { hashOf } from "../../src/graphql/requests/persisted-operations.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, startTestService, type TestService } from "../fixtures/fixture.ts";

const VIEWER_QUERY = "query Who { viewer { displayName } }\n";
const EARNINGS_QUERY = "query Line($first: Int!) { earningLines(first: $first) { edges { cursor } } }\n";

let folder: string;
let file: string;
let off: TestService;
let accessToken: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "operations-"));
  afterFile(() => rm(folder, { recursive: true }));
  file = join(folder, "operations.json");
  await writeFile(
    file,
    JSON.stringify({ [hashOf(VIEWER_QUERY)]: VIEWER_QUERY, [hashOf(EARNINGS_QUERY)]: EARNINGS_QUERY }),
  );
  off = await startTestService({ hasWorker: false });
  ({ accessToken } = await aFieldPartner(off));
});

function withOperations(mode: string, at = file): Promise<TestService> {
  const settings = { DATABASE_URL: off.databaseUrl, PERSISTED_OPERATIONS: mode, PERSISTED_OPERATIONS_FILE: at };
  return startTestService({ hasWorker: false, settings });
}

async function post({ url }: TestService, body: object, headers: object = { authorization: `Bearer ${accessToken}` }) {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return (await response.json()) as { data?: unknown; errors?: { message: string; extensions: { code: string } }[] };
}

function byHash(document: string, variables: object = {}) {
  return { variables, extensions: { persistedQuery: { version: 1, sha256Hash: hashOf(document) } } };
}

describe("a registered operation", () => {
  test("with PERSISTED_OPERATIONS=allow is executed by its hash, and unregistered operations are executed, too", async () => {
    const service = await withOperations("allow");
    const who = { data: { viewer: { displayName: "Asha Rao" } } };
    expect(await post(service, byHash(VIEWER_QUERY))).toEqual(who);
    expect(await post(service, { query: VIEWER_QUERY })).toEqual(who);
    expect(await post(service, byHash(EARNINGS_QUERY, { first: 3 }))).toEqual({
      data: { earningLines: { edges: [] } },
    });
  });

  test("with PERSISTED_OPERATIONS=only is executed by its hash, and a request without a registered hash gets BAD_INPUT", async () => {
    const service = await withOperations("only");
    expect(await post(service, byHash(VIEWER_QUERY))).toMatchObject({ data: { viewer: { displayName: "Asha Rao" } } });
    for (const query of [VIEWER_QUERY, "{ viewer { id } }", "{ __schema { types { name } } }"]) {
      const { data, errors } = await post(service, { query });
      expect(data).toBeUndefined();
      expect(errors).toMatchObject([{ extensions: { code: "BAD_INPUT" } }]);
      expect(errors![0]!.message).toMatch(/^Only registered operations are accepted here: send .*sha256Hash/);
    }
    const unknown = await post(service, byHash("{ viewer { id } }"));
    expect(unknown.errors).toMatchObject([
      {
        message: expect.stringMatching(/^No operation is registered under this hash/),
        extensions: { code: "BAD_INPUT" },
      },
    ]);
    for (const hash of ["__proto__", "constructor", ""]) {
      const extensions = { persistedQuery: { version: 1, sha256Hash: hash } };
      expect(await post(service, { extensions })).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
    }
    expect((await post(service, {})).errors![0]!.message).toMatch(/^Name a registered operation: send /);
  });

  test("is executed by its documentId, with or without sha256:, in each mode that knows registered operations", async () => {
    const hash = hashOf(VIEWER_QUERY);
    for (const mode of ["allow", "only"]) {
      const service = await withOperations(mode);
      for (const documentId of [`sha256:${hash}`, hash, `SHA256:${hash.toUpperCase()}`]) {
        expect(await post(service, { documentId })).toEqual({ data: { viewer: { displayName: "Asha Rao" } } });
      }
      const extensions = { persistedQuery: { version: 1, sha256Hash: `sha256:${hash}` } };
      expect(await post(service, { extensions })).toHaveProperty("data.viewer");
      const lines = { documentId: `sha256:${hashOf(EARNINGS_QUERY)}`, variables: { first: 3 } };
      expect(await post(service, lines)).toEqual({ data: { earningLines: { edges: [] } } });
      for (const documentId of [`sha256:${hashOf("{ viewer { id } }")}`, "sha256:", "", "md5:1234", "__proto__"]) {
        const { errors } = await post(service, { documentId });
        expect(errors).toMatchObject([
          { message: expect.stringMatching(/^No operation is registered/), extensions: { code: "BAD_INPUT" } },
        ]);
      }
      for (const documentId of [7, null, {}]) {
        const { errors } = await post(service, { documentId });
        expect(errors).toMatchObject([
          { message: expect.stringMatching(/send \{"documentId":"sha256:…"\}/), extensions: { code: "BAD_INPUT" } },
        ]);
      }
    }
  });

  test("signs in by its documentId without an access token, and any other documentId needs one", async () => {
    const at = join(folder, "sign-in.json");
    const signIn = "mutation In($input: RequestOtpInput!) { requestOtp(input: $input) { __typename } }";
    await writeFile(
      at,
      JSON.stringify({ [`sha256:${hashOf(signIn)}`]: signIn, [`sha256:${hashOf(VIEWER_QUERY)}`]: VIEWER_QUERY }),
    );
    const service = await withOperations("only", at);
    const input = { idempotencyKey: randomUUID(), phone: "+919800000077" };
    const answer = await post(service, { documentId: `sha256:${hashOf(signIn)}`, variables: { input } }, {});
    expect(answer).toMatchObject({ data: { requestOtp: { __typename: "RequestOtpPayload" } } });
    expect(await post(service, { documentId: `sha256:${hashOf(VIEWER_QUERY)}` }, {})).toMatchObject({
      errors: [{ extensions: { code: "UNAUTHENTICATED" } }],
    });
  });

  test("with PERSISTED_OPERATIONS=off is not found by its documentId", async () => {
    const { errors } = await post(off, { documentId: `sha256:${hashOf(VIEWER_QUERY)}` });
    expect(errors).toMatchObject([{ extensions: { code: "BAD_INPUT" } }]);
  });
});

describe("an automatic persisted query", () => {
  const SIGN_IN = "mutation In($input: RequestOtpInput!) { requestOtp(input: $input) { __typename } }";

  test.each([
    ["off", "PersistedQueryNotSupported"],
    ["allow", "PersistedQueryNotFound"],
  ])("with PERSISTED_OPERATIONS=%s is answered %s, and then executed by its text", async (mode, message) => {
    const service = mode === "off" ? off : await withOperations(mode);
    const document = "{ viewer { displayName } }";
    const answer = await post(service, byHash(document));
    expect(answer).toMatchObject({ errors: [{ message, extensions: { code: "BAD_INPUT" } }] });
    const { data } = await post(service, { query: document, ...byHash(document) });
    expect(data).toEqual({ viewer: { displayName: "Asha Rao" } });

    // Without an access token.
    const input = { idempotencyKey: randomUUID(), phone: "+919800000078" };
    expect(await post(service, byHash(SIGN_IN, { input }), {})).toMatchObject({ errors: [{ message }] });
    const signIn = await post(service, { query: SIGN_IN, ...byHash(SIGN_IN, { input }) }, {});
    expect(signIn).toMatchObject({ data: { requestOtp: { __typename: "RequestOtpPayload" } } });
    expect(await post(service, { query: document, ...byHash(document) }, {})).toMatchObject({
      errors: [{ extensions: { code: "UNAUTHENTICATED" } }],
    });
  });

  test.each(["off", "allow"])("of Apollo Client works with PERSISTED_OPERATIONS=%s", async (mode) => {
    const service = mode === "off" ? off : await withOperations(mode);
    const client = apolloWithHashes({ uri: `${service.url}/graphql`, accessToken, sha256: hashOf });
    const { data } = await client.query({
      query: gql`
        {
          viewer {
            displayName
          }
        }
      `,
    });
    expect(data).toMatchObject({ viewer: { displayName: "Asha Rao" } });
  });
});

describe("a subscription whose client accepts only multipart/mixed", () => {
  const query = `subscription { caseChanged { __typename } }`;

  test.each(["multipart/mixed", 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0,application/json'])(
    "is refused with the name of the accepted media type: Accept: %s",
    async (accept) => {
      const response = await fetch(`${off.url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", accept, authorization: `Bearer ${accessToken}` },
        body: JSON.stringify({ query }),
      });
      expect(response.status).toBe(406);
      expect(response.headers.get("content-type")).toBe("application/json");
      const message = expect.stringContaining("Send Accept: text/event-stream with a subscription; got ");
      expect(await response.json()).toMatchObject({ errors: [{ message, extensions: { code: "BAD_INPUT" } }] });
    },
  );
});

describe("a manifest of a generator", () => {
  const operations = [VIEWER_QUERY, EARNINGS_QUERY];
  const APOLLO = { format: "apollo-persisted-query-manifest", version: 1 };

  test.each([
    ["graphql-codegen", Object.fromEntries(operations.map((text) => [`sha256:${hashOf(text)}`, text]))],
    ["Relay with SHA256", Object.fromEntries(operations.map((text) => [hashOf(text), text]))],
    [
      "Apollo",
      {
        ...APOLLO,
        operations: operations.map((body) => ({ id: hashOf(body), name: "Who", type: "query", body })),
      },
    ],
  ])("registers its operations, as %s writes it", async (_, manifest) => {
    const at = join(folder, "manifest.json");
    await writeFile(at, JSON.stringify(manifest));
    const service = await withOperations("only", at);
    const who = { data: { viewer: { displayName: "Asha Rao" } } };
    expect(await post(service, byHash(VIEWER_QUERY))).toEqual(who);
    expect(await post(service, { documentId: `sha256:${hashOf(VIEWER_QUERY)}` })).toEqual(who);
    expect(await post(service, { query: VIEWER_QUERY })).toMatchObject({
      errors: [{ extensions: { code: "BAD_INPUT" } }],
    });
  });
});

describe("PERSISTED_OPERATIONS_FILE at the start of a service", () => {
  async function problemsWith(content: string): Promise<string[]> {
    const at = join(folder, "wrong.json");
    await writeFile(at, content);
    const error: unknown = await withOperations("only", at).catch((error: unknown) => error);
    return error instanceof InvalidConfigError ? error.problems : [];
  }

  test.each([
    ["with text that is not JSON", "{", /cannot be read: /],
    ["with a list", "[]", /must contain one JSON object/],
    ["with no operation", "{}", /the file has no operations$/],
    [
      "with a wrong hash",
      JSON.stringify({ abc: VIEWER_QUERY }),
      /abc is not the SHA-256 of its document, [0-9a-f]{64}$/,
    ],
    ["with a document that is not a string", JSON.stringify({ abc: 7 }), /abc has no document$/],
    [
      "with a syntax error in a document",
      JSON.stringify({ [hashOf("{")]: "{" }),
      /does not fit the schema: Syntax Error/,
    ],
    [
      "with an unknown field",
      JSON.stringify({ [hashOf("{ shoe }")]: "{ shoe }" }),
      /does not fit the schema: Cannot query field "shoe"/,
    ],
    [
      "with the hash of another document after sha256:",
      JSON.stringify({ [`sha256:${hashOf(EARNINGS_QUERY)}`]: VIEWER_QUERY }),
      /sha256:[0-9a-f]{64} is not the SHA-256 of its document, [0-9a-f]{64}$/,
    ],
    [
      "with an MD5, which Relay writes by default",
      JSON.stringify({ ["0123456789abcdef".repeat(2)]: VIEWER_QUERY }),
      /set the hash algorithm of your generator to SHA-256$/,
    ],
    [
      "with an unknown format",
      JSON.stringify({ format: "other", version: 2, operations: [] }),
      /must have "format":"apollo-persisted-query-manifest", "version":1 .*, but has format "other" and version 2$/,
    ],
    [
      "with a manifest of Apollo that has no operation",
      JSON.stringify({ format: "apollo-persisted-query-manifest", version: 1, operations: [] }),
      /the file has no operations$/,
    ],
    [
      "with an operation of Apollo without a body",
      JSON.stringify({ format: "apollo-persisted-query-manifest", version: 1, operations: [{ id: "abc" }] }),
      /abc has no document$/,
    ],
    [
      "with an operation of Apollo without an id",
      JSON.stringify({ format: "apollo-persisted-query-manifest", version: 1, operations: [{ body: VIEWER_QUERY }] }),
      /operations\[0\]\.id is not the SHA-256 of its document, [0-9a-f]{64}$/,
    ],
  ])("is rejected %s, and the error names the fault", async (_, content, words) => {
    expect(await problemsWith(content)).toEqual([expect.stringMatching(words)]);
  });

  test("must be set unless PERSISTED_OPERATIONS is off, and must name an existing file", async () => {
    await expect(withOperations("only", "")).rejects.toThrow(
      "PERSISTED_OPERATIONS_FILE is required where PERSISTED_OPERATIONS is allow or only",
    );
    await expect(withOperations("allow", join(folder, "none.json"))).rejects.toThrow("cannot be read: ENOENT");
  });
});

describe("persisted-operations make", () => {
  const cli = commandsInProcess({});

  test("makes a file from a folder's documents, and a service executes the operations in that file", async () => {
    await mkdir(join(folder, "app", "money"), { recursive: true });
    await writeFile(join(folder, "app", "who.graphql"), VIEWER_QUERY);
    await writeFile(join(folder, "app", "money", "lines.graphql"), EARNINGS_QUERY);
    await writeFile(join(folder, "app", "notes.txt"), "not this");
    const out = join(folder, "made.json");
    const { operations } = await cli.json("persisted-operations", "make", join(folder, "app"), "--out", out);
    expect(operations).toHaveLength(2);
    expect(JSON.parse(await readFile(out, "utf8"))).toEqual({
      [hashOf(VIEWER_QUERY)]: VIEWER_QUERY,
      [hashOf(EARNINGS_QUERY)]: EARNINGS_QUERY,
    });
    expect(await post(await withOperations("only", out), byHash(VIEWER_QUERY))).toHaveProperty("data");
  });

  test("reports every fault and writes nothing", async () => {
    const [shoe, half] = [join(folder, "shoe.graphql"), join(folder, "half.graphql")];
    await writeFile(shoe, "{ shoe }");
    await writeFile(half, "{ viewer {");
    const out = join(folder, "not-made.json");
    const { code, stderr } = await cli("persisted-operations", "make", shoe, half, "--out", out);
    expect(code).toBe(1);
    expect(stderr).toContain(`${half}: Syntax Error`);
    expect(stderr).toContain(`${shoe}: Cannot query field "shoe" on type "Query".`);
    await expect(readFile(out)).rejects.toThrow("ENOENT");
    expect((await cli("persisted-operations", "make", join(folder, "none"), "--out", out)).code).toBe(3);
  });
});
