import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { problemCodesOf } from "../../src/rest/openapi/problem-codes.ts";
import { EVENT_KINDS } from "../../src/rest/openapi/webhooks.ts";
import { Problem, PROBLEM_CODES, type ProblemCode } from "../../src/http/problem.ts";
import { ENDPOINTS } from "../../src/rest/v1/endpoints.ts";
import { answerFaults, partOfDocument, schemaFaults } from "../fixtures/documented.ts";

const document = openApiDocument();

describe("the OpenAPI document", () => {
  test("is valid by the official schema of OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  test("has every endpoint, and requires a signature exactly where the endpoint requires one", () => {
    const endpoints = ENDPOINTS.map(
      ({ method, path, signed = true }) => `${method} ${path} ${signed ? "" : "un"}signed`,
    );
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => {
        const [security] = (operation as { security: object[] }).security;
        return `${method.toUpperCase()} ${path} ${"Signature" in security! ? "" : "un"}signed`;
      }),
    );
    expect(documented.toSorted()).toEqual(endpoints.toSorted());
  });

  test("describes each parameter of a path", () => {
    for (const { path, operation } of ENDPOINTS) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const { parameters = [] } = operation;
      expect(parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name)).toEqual(named);
    }
  });

  test("has a unique id for each operation", () => {
    const ids = texts(document, "operationId");
    expect(ids.length).toBeGreaterThan(25);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("describes exactly the tags that operations have", () => {
    const titles = (document["tags"] as { name: string }[]).map(({ name }) => name);
    expect(titles.toSorted()).toEqual([...new Set(ENDPOINTS.map(({ operation }) => operation.tag))].toSorted());
  });

  test("describes every field", () => {
    const missing = Object.entries(document.components["schemas"]!).flatMap(([name, schema]) =>
      undescribedFields(name, schema),
    );
    expect(missing).toEqual([]);
  });

  test("has nothing but a description beside a $ref, because generators of clients ignore everything else", () => {
    expect(keywordsBesideReferences(document, "#")).toEqual([]);
  });

  test("restricts the code of each error answer to the codes that the operation lists for that status", () => {
    const errors = Object.values(document.paths).flatMap((methods) => Object.values(methods).map(codesOfAnswers));
    expect(errors.map(({ byStatus }) => Object.values(byStatus).flat().toSorted())).toEqual(
      errors.map(({ listed }) => listed.toSorted()),
    );
    const statuses = errors.flatMap(({ byStatus }) => Object.entries(byStatus));
    expect(statuses.length).toBeGreaterThan(150);
    const misplaced = statuses.flatMap(([status, codes]) =>
      codes.filter((code) => String(new Problem(code, "").status) !== status),
    );
    expect(misplaced).toEqual([]);
  });

  test("has examples that are valid by its schemas", () => {
    const examples = examplesIn(document, "#");
    expect(examples.length).toBeGreaterThan(150);
    expect(examples.flatMap(({ schema, value }) => schemaFaults(schema, value))).toEqual([]);
  });

  test("has an example for each request and answer with a body", () => {
    const missing = contentsIn(document, "#").filter(({ content }) => Object.keys(content.examples ?? {}).length === 0);
    expect(missing.map(({ reference }) => reference)).toEqual([]);
  });

  test("has an example of every problem code, at an operation that can answer it", () => {
    const shown = new Set(texts(document, "code"));
    expect(PROBLEM_CODES.filter((code) => !shown.has(code))).toEqual([]);
    const answered = new Set(ENDPOINTS.flatMap(problemCodesOf));
    const elsewhere = PROBLEM_CODES.filter((code) => !answered.has(code));
    // No operation has ROUTE_NOT_FOUND or METHOD_NOT_ALLOWED, because these are about unknown paths and methods. The
    // other codes in this list belong only to rows of an import.
    expect(elsewhere).toEqual<ProblemCode[]>([
      "ROUTE_NOT_FOUND",
      "METHOD_NOT_ALLOWED",
      "INVALID_PHONE",
      "INVALID_CURRENCY",
      "DUPLICATE_IN_REQUEST",
      "CURRENCY_MISMATCH",
    ]);
    const rows = JSON.stringify(partOfDocument("#/paths/~1api~1v1~1partner~1cases/post/responses/200"));
    expect(elsewhere.slice(2).filter((code) => !rows.includes(`"${code}"`))).toEqual([]);
  });

  test("has a webhook for every kind of event, and the mint call", () => {
    expect(Object.keys(document.webhooks)).toEqual([...EVENT_KINDS.map(({ kind }) => kind), "mint-link"]);
  });

  test("has a server URL that equals the path prefix that a proxy removes", () => {
    expect(openApiDocument("/collections")["servers"]).toMatchObject([{ url: "/collections" }]);
  });
});

describe("answerFaults", () => {
  const health = {
    ok: true,
    lenderCode: "ACME",
    env: "sandbox",
    serverTime: "2026-12-03T05:20:00.000Z",
    keyId: "lk_1",
    skewMs: 0,
    apiVersion: "v1",
  };
  const problem = {
    type: "/errors/LOAN_NOT_FOUND",
    title: "There is no such loan",
    status: 404,
    detail: "There is no case of this loan; import it first.",
    success: false,
    code: "LOAN_NOT_FOUND",
    requestId: "req_1",
    retryable: false,
  };

  function answered(changes: { url?: string; status?: number; type?: string; id?: string | undefined; body?: object }) {
    const { url = "/api/v1/partner/health", status = 200, type = "application/json", body = health } = changes;
    const headers: Record<string, unknown> = {
      "content-type": type,
      "X-Request-Id": "id" in changes ? changes.id : "req_1",
    };
    return answerFaults({ method: "GET", url, status, header: (name) => headers[name], body: JSON.stringify(body) });
  }

  test("finds nothing wrong with a documented answer", () => {
    expect(answered({})).toEqual([]);
    const cases = "/api/v1/partner/cases/LN%2F1?a=b";
    expect(answered({ url: cases, status: 404, type: "application/problem+json", body: problem })).toEqual([]);
  });

  test.each([
    ["a field that is not in the document", { body: { ...health, mood: "good" } }, "additional properties"],
    ["a field that is missing", { body: { ...health, env: undefined } }, "'env'"],
    ["a field of another type", { body: { ...health, skewMs: "0" } }, "/skewMs must be integer"],
    ["an invalid time", { body: { ...health, serverTime: "now" } }, 'must match format "date-time"'],
    ["another media type", { type: "text/html" }, "is text/html"],
    ["a missing request id", { id: undefined }, "has no X-Request-Id"],
    ["an undocumented status", { status: 204 }, "is not documented"],
    ["an undocumented path", { url: "/api/v1/partner/other", status: 200 }, "is not documented"],
    [
      "a code that the operation does not have",
      {
        url: "/api/v1/partner/cases/1",
        status: 404,
        type: "application/problem+json",
        body: { ...problem, code: "REPLAY_NOT_FOUND" },
      },
      "must be equal to one of the allowed values",
    ],
  ])("reports %s", (_, changes, fault) => {
    expect(answered(changes).join("\n")).toContain(fault);
  });
});

/** Returns all strings in a field of this name, anywhere in the document. */
function texts(node: unknown, name: string): string[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === name && typeof value === "string" ? [value] : texts(value, name),
  );
}

/** Returns the places of `$ref`s below a node that have other keywords than a description beside them. */
function keywordsBesideReferences(node: unknown, place: string): string[] {
  if (typeof node !== "object" || node === null) return [];
  const others = "$ref" in node ? Object.keys(node).filter((key) => !["$ref", "description"].includes(key)) : [];
  return [
    ...others.map((keyword) => `${place}/${keyword}`),
    ...Object.entries(node).flatMap(([key, value]) => keywordsBesideReferences(value, `${place}/${key}`)),
  ];
}

/** Returns the problem codes that an operation lists, and the codes that the schemas of its answers permit. */
function codesOfAnswers(operation: object): { listed: ProblemCode[]; byStatus: Record<string, ProblemCode[]> } {
  const { responses, "x-problem-codes": listed } = operation as {
    responses: Record<string, { content?: Record<string, { schema: object }> }>;
    "x-problem-codes": ProblemCode[];
  };
  const answers = Object.entries(responses).flatMap(([status, { content }]) => {
    const schema = content?.["application/problem+json"]?.schema;
    if (!schema) return [];
    const kinds = "oneOf" in schema ? (schema.oneOf as object[]) : [schema];
    const codes = kinds.flatMap((kind) => {
      const [, restriction] = (kind as { allOf: { properties?: { code: { enum: ProblemCode[] } } }[] }).allOf;
      return restriction!.properties!.code.enum;
    });
    return [[status, codes] as const];
  });
  return { listed, byStatus: Object.fromEntries(answers) };
}

interface Content {
  readonly schema: object;
  readonly examples?: Readonly<Record<string, { value?: unknown; $ref?: string }>>;
}

/** Returns the JSON content of every request and answer that is documented below this node, with its reference. */
function contentsIn(node: unknown, reference: string): { reference: string; content: Content }[] {
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => {
    const here = `${reference}/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`;
    const isContent = /^application\/(problem\+)?json$/.test(key);
    return isContent ? [{ reference: here, content: value as Content }] : contentsIn(value, here);
  });
}

function examplesIn(node: unknown, reference: string): { schema: string; value: unknown }[] {
  return contentsIn(node, reference).flatMap(({ reference, content }) =>
    Object.values(content.examples ?? {}).map(({ value, $ref }) => ({
      schema: `${reference}/schema`,
      value: $ref === undefined ? value : (partOfDocument($ref) as { value: unknown }).value,
    })),
  );
}

function undescribedFields(name: string, node: unknown): string[] {
  if (typeof node !== "object" || node === null) return [];
  const { properties } = node as {
    properties?: Record<string, { description?: string; $ref?: string; anyOf?: object[] }>;
  };
  const missing = Object.entries(properties ?? {})
    .filter(([, field]) => !field.description && !field.$ref && !field.anyOf?.some((one) => "$ref" in one))
    .map(([field]) => `${name}.${field}`);
  return [...missing, ...Object.entries(node).flatMap(([key, value]) => undescribedFields(`${name}/${key}`, value))];
}
