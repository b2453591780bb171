import { casesSchema } from "@collections/cases/schema";
import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { aCaseHolder, type CaseLender } from "../fixtures/case-holder.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { GraphqlAnswer, Selected } from "../fixtures/graphql-client.ts";

let service: TestService;
let lender: CaseLender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

describe("the query cases", () => {
  test("returns pages, and filters by status", async () => {
    const me = await aCaseHolder(service);
    const { app } = me;
    const ids = await me.cases(lender, {}, {}, {});
    const query = `query ($after: String, $filter: CaseFilter) { cases(first: 2, after: $after, filter: $filter) {
      edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
    const first = (await app.ask(query)).data!["cases"];
    expect(first.pageInfo).toMatchObject({
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: first.edges[0].cursor,
    });
    const second = (await app.ask(query, { after: first.pageInfo.endCursor })).data!["cases"];
    expect(second.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    const seen = [...first.edges, ...second.edges].map(({ node }: { node: { id: string } }) => node.id);
    expect(seen).toEqual(ids.toReversed());

    const start = { visitId: randomUUID(), caseId: ids[1], occurredAt: new Date() };
    await app.mutate("startVisit", start, "visit { visitId }");
    const working = (await app.ask(query, { filter: { status: ["IN_PROGRESS", "ON_HOLD"] } })).data!["cases"];
    expect(working.edges.map(({ node }: { node: { id: string } }) => node.id)).toEqual([ids[1]]);
    const page = await app.ask(query, { after: "nonsense" });
    expect(page.errors).toMatchObject([{ extensions: { code: "BAD_INPUT" } }]);
  });

  test("counts the cases of all pages by lender, city, bucket and status, with the filter and the search of the list", async () => {
    const me = await aCaseHolder(service);
    const other = await aLender(service, { name: "Zeta Bank" });
    const at = (city: string, place: object = {}) => ({ addresses: [{ line1: "1", city, country: "IN", ...place }] });
    await me.cases(lender, { dpd: 45, ...at("Pune") }, { dpd: 40, ...at("Pune") }, { dpd: 5, ...at("PUNE") });
    await me.cases(other, { borrowerName: "Zoya Khan", ...at("Nashik", { latitude: 19.99, longitude: 73.79 }) });
    const query = `query ($filter: CaseFilter, $search: String) { cases(first: 1, filter: $filter, search: $search) {
      totalCount
      facets { workable promised lender { lender { code } count } city { value count } bucket { value count }
        status { status count } }
      edges { node { borrower { position { latitude longitude } } } }
    } }`;
    const counted = async (variables: object) => {
      const { data, errors } = await me.app.ask(query, variables);
      expect(errors).toBeUndefined();
      return data!["cases"];
    };
    expect(await counted({})).toMatchObject({
      totalCount: 4,
      facets: {
        workable: 4,
        promised: 0,
        lender: [
          { lender: { code: lender.code }, count: 3 },
          { lender: { code: other.code }, count: 1 },
        ],
        city: [
          { value: "Pune", count: 3 },
          { value: "Nashik", count: 1 },
        ],
        bucket: [
          { value: "31-60", count: 2 },
          { value: "1-30", count: 1 },
        ],
        status: [{ status: "ASSIGNED", count: 4 }],
      },
    });
    expect(await counted({ filter: { city: ["pune"], bucket: ["31-60"] } })).toMatchObject({ totalCount: 2 });
    expect(await counted({ search: "zoya" })).toMatchObject({
      totalCount: 1,
      edges: [{ node: { borrower: { position: { latitude: 19.99, longitude: 73.79 } } } }],
    });
    expect(await counted({ search: "nobody" })).toMatchObject({ totalCount: 0, facets: { lender: [], city: [] } });
    const stranger = await aCaseHolder(service);
    const nothing = await stranger.app.ask(query);
    expect(nothing.data).toMatchObject({ cases: { totalCount: 0, facets: { lender: [] } } });
  });

  test("finds text in any Unicode normal form, also in rows from before the migration 0006-normal-forms", async () => {
    const me = await aCaseHolder(service);
    const names = ["रा\u0920\u094c\u095c", "Nguy\u00ea\u0303n", "Jose\u0301"];
    const ids = await me.cases(lender, ...names.map((borrowerName) => ({ borrowerName, bucket: "\u095c" })));
    const found = async (args: string): Promise<string[]> => {
      const { data } = await me.app.ask(`{ cases(${args}) { edges { node { id } } } }`);
      return data!["cases"].edges.map(({ node }: { node: { id: string } }) => node.id);
    };
    for (const [at, name] of names.entries()) {
      for (const typed of [name, name.normalize("NFC"), name.normalize("NFD")]) {
        expect(await found(`search: "${typed}"`)).toEqual([ids[at]]);
      }
    }
    for (const bucket of ["\u095c", "\u0921\u093c"])
      expect(await found(`filter: { bucket: ["${bucket}"] }`)).toHaveLength(3);

    const { pool } = service.app.database;
    await pool.query("update cases.collection_case set borrower_name = $1 where borrower_name = $2", [
      names[2],
      names[2]!.normalize(),
    ]);
    expect(await found('search: "josé"')).toEqual([ids[2]]);
    const migration = casesSchema.migrations.find(({ name }) => name === "0006-normal-forms")!;
    for (const statement of migration.statements) await pool.query(statement);
    expect(await found('search: "josé"')).toEqual([ids[2]]);
  });

  test("combines filter, search and sort, and rejects a cursor of another sort", async () => {
    const me = await aCaseHolder(service);
    const { app } = me;
    const pune = (latitude: number) => [
      { line1: "1 MG Road", city: "Pune", postalCode: "411001", latitude, longitude: 73.85 },
    ];
    const [near, far] = await me.cases(
      lender,
      { addresses: pune(18.53), borrowerName: "Meena Joshi", dpd: 10 },
      { addresses: pune(18.6), borrowerName: "Joshi & Sons", dpd: 95 },
      { addresses: pune(18.53), borrowerName: "Ravi Kumar" },
    );
    const query = `query ($sort: CaseSort, $near: NearInput, $after: String, $first: Int) {
      cases(filter: { city: "pune", lender: "${lender.code}", workable: true, postalCode: "411 001" }, search: "joshi",
        sort: $sort, near: $near, after: $after, first: $first) {
        edges { node { id distanceM isShrunk } } pageInfo { endCursor } } }`;
    const ids = ({ data }: GraphqlAnswer) => data!["cases"].edges.map((edge: Selected) => edge.node.id);
    const place = { latitude: 18.52, longitude: 73.85 };
    expect(ids(await app.ask(query))).toEqual([far, near]);
    const sorted = await app.ask(query, { sort: "NEAR_ME", near: place });
    expect(sorted.data!["cases"].edges).toMatchObject([
      { node: { id: near, distanceM: 1112, isShrunk: false } },
      { node: { id: far, distanceM: 8896 } },
    ]);
    expect(ids(await app.ask(query, { near: { ...place, radiusM: 2_000 } }))).toEqual([near]);

    const after = (await app.ask(query, { first: 1 })).data!["cases"].pageInfo.endCursor;
    expect(ids(await app.ask(query, { first: 1, after }))).toEqual([near]);
    expect((await app.ask(query, { first: 1, after, sort: "AMOUNT" })).errors).toMatchObject([
      { message: expect.stringContaining("another sort"), extensions: { code: "BAD_INPUT" } },
    ]);
  });

  test.each([
    ["sort: NEAR_ME", "needs `near`"],
    ["near: { latitude: 91, longitude: 0 }", "-90 to 90"],
    ["near: { latitude: 1, longitude: 0, radiusM: 0 }", "1 to 1000000"],
    ['filter: { promiseDue: { from: "2026-11-21", to: "2026-11-20" } }', "ends before it begins"],
    [`filter: { city: [${'"Pune",'.repeat(51)}] }`, "50 values"],
    [`search: "${"x".repeat(101)}"`, "100 characters"],
    ['search: "\\u0000"', "100 characters"],
  ])("with %.60s gets BAD_INPUT, with a message that names the valid values", async (args, expected) => {
    const { app } = await aCaseHolder(service);
    const { data, errors } = await app.ask(`{ cases(${args}) { edges { node { id } } } }`);
    expect(data).toEqual({ cases: null });
    expect(errors).toMatchObject([{ message: expect.stringContaining(expected), extensions: { code: "BAD_INPUT" } }]);
  });
});
