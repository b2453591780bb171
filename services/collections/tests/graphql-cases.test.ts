import { randomUUID } from "node:crypto";
import { visitOfFieldPartner } from "@collections/cases";
import { createDatabase, transaction } from "@collections/database";
import { holdCase, unassignCase } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { recordMinted } from "@collections/payment-links";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { startHttpServer } from "../src/http-server.ts";
import { schemas } from "../src/schemas.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "./fixture.ts";
import { AppClient } from "./graphql-client.ts";

const IN_A_MONTH = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let loansMade = 0;

beforeAll(async () => {
  service = await startTestService({ works: false });
  lender = await aLender(service);
});

describe("a case", () => {
  test("shows what its field partner needs at the door, and no more", async () => {
    const { app, fieldPartnerId } = await anApp();
    const [id] = await cases(app, fieldPartnerId, {
      sourceLoanNumber: "MUM/2023/00123",
      language: "hi-IN",
      minimumAmount: 500.5,
      dpd: 45,
      addresses: [
        { line1: "12 MG Road", landmark: "Near the temple", city: "Pune", state: "Maharashtra", postalCode: "411001" },
      ],
    });
    const { data, errors } = await app.ask(
      `query ($id: ID!) { case(id: $id) {
        id caseId loanTail status workable blockedReason dpd bucket
        lender { code name }
        borrower { displayName maskedPhone language address }
        outstanding { currency minor decimal display } totalCollected { display(locale: "hi-IN") } minimum { decimal }
        visits { edges { node { visitId } } } openPromise { dueOn } activeLink { id } earnings { id }
        fallback { upiUri qrSvg bankAccount { accountNumber accountName ifsc swift } instructions }
        estimatedEarning { amount { decimal } formula }
        half: estimatedEarning(amount: { minor: "250000", currency: "INR" }) { amount { decimal } formula }
        more: estimatedEarning(amount: { minor: "99900000", currency: "INR" }) { amount { decimal } }
      } }`,
      { id },
    );
    expect(errors).toBeUndefined();
    expect(data!["case"]).toEqual({
      id,
      caseId: expect.stringMatching(/^case_[0-9a-f]{32}$/),
      loanTail: "0123",
      status: "ASSIGNED",
      workable: true,
      blockedReason: null,
      dpd: 45,
      bucket: "31-60",
      lender: { code: lender.code, name: "Acme Finance" },
      borrower: {
        displayName: "Ravi Kumar",
        maskedPhone: "98•••••001",
        language: "hi-IN",
        address: "12 MG Road, Near the temple, Pune, Maharashtra, 411001",
      },
      outstanding: { currency: "INR", minor: "500000", decimal: "5000.00", display: "₹5,000.00" },
      totalCollected: { display: "₹0.00" },
      minimum: { decimal: "500.50" },
      visits: { edges: [] },
      openPromise: null,
      activeLink: null,
      earnings: [],
      fallback: {
        upiUri: "upi://pay?pa=acme@okbank&pn=Acme%20Finance&cu=INR&tn=MUM%2F2023%2F00123",
        qrSvg: expect.stringMatching(/^<svg/),
        bankAccount: { accountNumber: "50100012345678", accountName: "Acme Finance", ifsc: "HDFC0000123", swift: null },
        instructions: null,
      },
      estimatedEarning: { amount: { decimal: "125.00" }, formula: "2.5% of ₹5,000.00" },
      half: { amount: { decimal: "62.50" }, formula: "2.5% of ₹2,500.00" },
      more: { amount: { decimal: "125.00" } },
    });
  });

  test("of another field partner does not exist, by whatever way one asks", async () => {
    const { app, fieldPartnerId } = await anApp();
    const { app: stranger } = await anApp();
    const [id] = await cases(app, fieldPartnerId);
    const query =
      "query ($id: ID!) { case(id: $id) { id } node(id: $id) { id } nodes(ids: [$id]) { id } cases { edges { node { id } } } }";
    expect((await stranger.ask(query, { id })).data).toEqual({
      case: null,
      node: null,
      nodes: [null],
      cases: { edges: [] },
    });
    expect((await app.ask(query, { id })).data).toEqual({
      case: { id },
      node: { id },
      nodes: [{ id }],
      cases: { edges: [{ node: { id } }] },
    });
    const start = { visitId: randomUUID(), caseId: id, occurredAt: new Date() };
    expect(await stranger.mutate("startVisit", start, "visit { visitId }")).toEqual({
      __typename: "CaseNotFound",
      code: "CASE_NOT_FOUND",
      message: "There is no such case among your cases.",
    });
  });

  test("that was taken away, or is held, says so", async () => {
    const { app, fieldPartnerId } = await anApp();
    const [held, taken] = await cases(app, fieldPartnerId, {}, {});
    const order = { lender: (await lenderByCode(service.app.database.em(), lender.code))!, reason: "complaint" };
    await holdCase(service.app.database.em(), { ...order, loan: `LN-${loansMade - 1}` }, "sandbox");
    await unassignCase(service.app.database.em(), { ...order, loan: `LN-${loansMade}` }, "sandbox");
    const query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Case { status workable blockedReason } } }";
    expect((await app.ask(query, { ids: [held, taken] })).data).toEqual({
      nodes: [
        { status: "ON_HOLD", workable: false, blockedReason: "The case is on hold: do not contact the borrower." },
        null,
      ],
    });
  });

  test("whose borrower asked for rest is not workable until that day", async () => {
    const { app, fieldPartnerId } = await anApp();
    const [id] = await cases(app, fieldPartnerId, { doNotContactUntil: IN_A_MONTH });
    const { data } = await app.ask("query ($id: ID!) { case(id: $id) { workable blockedReason } }", { id });
    expect(data!["case"]).toEqual({ workable: false, blockedReason: "The borrower is not to be contacted for now." });
  });
});

test("a case that ended more than seven days ago shows its id, lender, status and earnings, and nothing else", async () => {
  const { app, fieldPartnerId } = await anApp();
  const [id] = await cases(app, fieldPartnerId, { dpd: 45, addresses: [{ line1: "1 MG Road", city: "Pune" }] });
  await aMintedLink(app, fieldPartnerId, id!);
  const end = (days: number) =>
    service.app.database.pool.query(
      `update cases.collection_case set status = 'closed', close_reason = 'closed_by_operator',
         closed_at = now() - make_interval(days => $2) where assigned_field_partner_id = $1`,
      [fieldPartnerId, days],
    );
  const query = `{ cases(first: 1, search: "") { edges { node { id status isShrunk loanTail workable dpd bucket lender { code }
    borrower { displayName maskedPhone address } outstanding { minor } minimum { minor } openPromise { dueOn }
    visits { edges { node { visitId } } } activeLink { id } fallback { upiUri instructions } earnings { id } } } } }`;
  await end(6);
  const before = (await app.ask(query)).data!["cases"].edges[0].node;
  expect(before).toMatchObject({ isShrunk: false, borrower: { displayName: "Ravi Kumar" }, dpd: 45 });
  expect(before.visits.edges).toHaveLength(1);
  await end(8);
  const { data, errors } = await app.ask(query);
  expect(errors).toBeUndefined();
  expect(data!["cases"].edges[0].node).toEqual({
    id,
    status: "CLOSED",
    isShrunk: true,
    loanTail: "",
    workable: false,
    dpd: null,
    bucket: null,
    lender: { code: lender.code },
    borrower: { displayName: "", maskedPhone: "", address: null },
    outstanding: { minor: "0" },
    minimum: null,
    openPromise: null,
    visits: { edges: [] },
    activeLink: null,
    fallback: { upiUri: null, instructions: null },
    earnings: [],
  });
  expect((await app.ask("query ($id: ID!) { case(id: $id) { borrower { displayName } } }", { id })).data).toEqual({
    case: { borrower: { displayName: "" } },
  });
});

describe("the list of cases", () => {
  test("comes page by page, and can be narrowed to states", async () => {
    const { app, fieldPartnerId } = await anApp();
    const ids = await cases(app, fieldPartnerId, {}, {}, {});
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

  test("of 100 cases takes as many statements as the list of 1, relations included and however it is asked for", async () => {
    const { app, fieldPartnerId, accessToken } = await anApp();
    const other = await aLender(service, { name: "Bolt Credit" });
    await cases(app, fieldPartnerId, ...Array.from({ length: 95 }, () => ({})));
    const others = await casesOf(other, app, fieldPartnerId, ...Array.from({ length: 5 }, () => ({})));
    for (const caseId of others) await aMintedLink(app, fieldPartnerId, caseId);
    const statements: string[] = [];
    const database = await createDatabase({
      url: service.databaseUrl,
      schemas,
      onStatement: ({ text }) => statements.push(text),
    });
    const server = await startHttpServer({ ...service.app, database });
    afterFile(async () => {
      await server.stop(1_000);
      await database.close();
    });
    const counted = new AppClient(server.url, accessToken);
    const query = `query ($first: Int!, $filter: CaseFilter, $search: String, $sort: CaseSort, $near: NearInput) {
      cases(first: $first, filter: $filter, search: $search, sort: $sort, near: $near) { edges { node {
        id outstanding { minor } workable distanceM
        borrower { displayName } lender { name } openPromise { dueOn } activeLink { id status } } } } }`;
    const filter = { status: ["ASSIGNED", "IN_PROGRESS"], lender: [lender.code, other.code], workable: true };
    const near = { latitude: 19, longitude: 72 };
    const asked = [{}, { filter }, { search: "ravi" }, { sort: "AMOUNT" }, { sort: "NEAR_ME", near, filter }];
    for (const variables of asked) {
      for (const first of [1, 20, 100]) {
        statements.length = 0;
        const { data, errors } = await counted.ask(query, { first, ...variables });
        expect(errors).toBeUndefined();
        expect(data!["cases"].edges).toHaveLength(first);
        expect(statements).toHaveLength(6);
      }
    }

    statements.length = 0;
    const everything = `{ cases { edges { node { id lender { code } openPromise { dueOn }
      activeLink { id deliveries { status } fallback { upiUri } } earnings { id } fallback { upiUri }
      estimatedEarning { formula } visits(first: 2) { edges { node { visitId } } } } } } }`;
    expect((await counted.ask(everything)).errors).toBeUndefined();
    expect(statements).toHaveLength(9);
  });

  test("is narrowed, searched and sorted together, and a cursor stays with its list", async () => {
    const { app, fieldPartnerId } = await anApp();
    const pune = (latitude: number) => [
      { line1: "1 MG Road", city: "Pune", postalCode: "411001", latitude, longitude: 73.85 },
    ];
    const [near, far] = await cases(
      app,
      fieldPartnerId,
      { addresses: pune(18.53), borrowerName: "Meena Joshi", dpd: 10 },
      { addresses: pune(18.6), borrowerName: "Joshi & Sons", dpd: 95 },
      { addresses: pune(18.53), borrowerName: "Ravi Kumar" },
    );
    const query = `query ($sort: CaseSort, $near: NearInput, $after: String, $first: Int) {
      cases(filter: { city: "pune", lender: "${lender.code}", workable: true, postalCode: "411 001" }, search: "joshi",
        sort: $sort, near: $near, after: $after, first: $first) {
        edges { node { id distanceM isShrunk } } pageInfo { endCursor } } }`;
    const ids = ({ data }: { data: any }) => data["cases"].edges.map((edge: any) => edge.node.id); // oxlint-disable-line typescript/no-explicit-any -- its shape is the query's
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
  ])("asked for with %.60s is BAD_INPUT that says what is expected", async (args, expected) => {
    const { app } = await anApp();
    const { data, errors } = await app.ask(`{ cases(${args}) { edges { node { id } } } }`);
    expect(data).toEqual({ cases: null });
    expect(errors).toMatchObject([{ message: expect.stringContaining(expected), extensions: { code: "BAD_INPUT" } }]);
  });
});

async function anApp() {
  const { id, accessToken } = await aFieldPartner(service);
  return { app: new AppClient(service.url, accessToken), fieldPartnerId: id, accessToken };
}

function cases(app: AppClient, fieldPartnerId: string, ...rows: Record<string, unknown>[]): Promise<string[]> {
  return casesOf(lender, app, fieldPartnerId, ...rows);
}

/** A visit on a case, and a link that the lender has minted: as a worker would record it. */
async function aMintedLink(app: AppClient, fieldPartnerId: string, caseId: string): Promise<void> {
  const visitId = randomUUID();
  await app.mutate("startVisit", { visitId, caseId, occurredAt: new Date() }, "visit { visitId }");
  const input = { visitId, amount: { minor: "100000", currency: "INR" }, channels: [] };
  const { paymentLink } = await app.mutate("requestPaymentLink", input, "paymentLink { id }");
  const id = Buffer.from(paymentLink.id, "base64url").toString().split(":")[1]!;
  await transaction(service.app.database.em(), async (tx) => {
    const { lenderId } = (await visitOfFieldPartner(tx, fieldPartnerId, visitId))!;
    await recordMinted(tx, { lenderId, id }, { linkId: `plink_${id}`, url: "https://pay.example/1" }, new Date());
  });
}

/** Cases of a lender in a field partner's hands, one for each row: their global ids, in the order of the rows. */
async function casesOf(
  from: typeof lender,
  app: AppClient,
  fieldPartnerId: string,
  ...rows: Record<string, unknown>[]
): Promise<string[]> {
  const imported = (rows.length > 0 ? rows : [{}]).map((fields) => {
    loansMade += 1;
    return aRow(`LN-${loansMade}`, fields);
  });
  const { body } = await from.importCases(imported);
  expect(body).toMatchObject({ success: true });
  for (const row of imported) await assign(service, from.code, row["sourceLoanNumber"] as string, fieldPartnerId);
  const results = body["results"] as { caseId: string }[];
  const { data } = await app.ask("{ cases(first: 100) { edges { node { id caseId } } } }");
  const nodes = data!["cases"].edges.map(({ node }: { node: { id: string; caseId: string } }) => node);
  return results.map(({ caseId }) => nodes.find((node: { caseId: string }) => node.caseId === caseId).id);
}
