import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const SUMS = "earned { decimal currency } pending { decimal } credited { decimal } paidOut { decimal }";
const LINE = `id amount { decimal } status formula calculation { percent base { decimal currency } baseBefore { decimal } }
  case { caseId loanTail } caseId reference earnedAt creditedAt paidOutAt`;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let app: AppClient;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  const { id, accessToken } = await aFieldPartner(service);
  app = new AppClient(service.url, accessToken);
  await lender.importCases([aRow("LN-1"), aRow("LN-2")]);
  for (const loan of ["LN-1", "LN-2"]) await assign(service, lender.code, loan, id);
  const { data } = await app.ask("{ cases { edges { node { id } } } }");
  const caseId = data!["cases"].edges[0].node.id;
  await app.mutate("startVisit", { visitId: randomUUID(), caseId, occurredAt: new Date() }, "visit { visitId }");
  await lender.confirm("LN-1", { amount: 2500, reference: "pay_1", paidAt: new Date().toISOString(), mode: "upi" });
  await lender.confirm("LN-2", { amount: 5000.5, reference: "pay_2", paidAt: new Date().toISOString(), mode: "upi" });
});

describe("earnings of a field partner", () => {
  test("are summed by status for a period in the field partner's time zone", async () => {
    const periods = ["TODAY", "THIS_WEEK", "THIS_MONTH"];
    const fields = periods.map((period) => `${period}: earnings(period: ${period}) { period from to ${SUMS} }`);
    const { data, errors } = await app.ask(`{ ${fields.join(" ")} }`);
    expect(errors).toBeUndefined();
    for (const period of periods) {
      expect(data![period]).toMatchObject({
        period,
        earned: [{ decimal: "187.50", currency: "INR" }],
        pending: [{ decimal: "62.50" }],
        credited: [{ decimal: "125.00" }],
        paidOut: [{ decimal: "0.00" }],
        // 18:30 UTC is midnight in India.
        from: expect.stringMatching(/T18:30:00\.000Z$/),
      });
    }
  });

  test("are listed page by page as lines that only their owner can read", async () => {
    const query = `query ($after: String) { earningLines(first: 1, after: $after) {
      edges { node { ${LINE} } } pageInfo { hasNextPage endCursor } } }`;
    const first = (await app.ask(query)).data!["earningLines"];
    const second = (await app.ask(query, { after: first.pageInfo.endCursor })).data!["earningLines"];
    expect([...first.edges, ...second.edges].map(({ node }) => node)).toMatchObject([
      {
        amount: { decimal: "125.00" },
        status: "CREDITED",
        formula: "2.5% of ₹5,000.00",
        calculation: { percent: "2.5", base: { decimal: "5000.00", currency: "INR" }, baseBefore: null },
        case: { caseId: expect.stringMatching(/^case_/), loanTail: "LN-2" },
        reference: "pay_2",
        caseId: expect.stringMatching(/^case_/),
        creditedAt: expect.any(String),
        paidOutAt: null,
      },
      {
        amount: { decimal: "62.50" },
        status: "PENDING",
        formula: "2.5% of ₹2,500.00",
        reference: "pay_1",
        creditedAt: null,
      },
    ]);
    expect(second.pageInfo.hasNextPage).toBe(false);
    const { id } = first.edges[0].node;
    const node = `query ($id: ID!) { node(id: $id) { id } }`;
    expect((await app.ask(node, { id })).data).toEqual({ node: { id } });
    const stranger = new AppClient(service.url, (await aFieldPartner(service)).accessToken);
    expect((await stranger.ask(node, { id })).data).toEqual({ node: null });
  });

  test("are shown on the case that they come from", async () => {
    const { data } = await app.ask(
      "{ cases { edges { node { loanTail totalCollected { decimal } earnings { reference } } } } }",
    );
    expect(data!["cases"].edges.map(({ node }: { node: object }) => node)).toEqual([
      { loanTail: "LN-1", totalCollected: { decimal: "2500.00" }, earnings: [{ reference: "pay_1" }] },
      { loanTail: "LN-2", totalCollected: { decimal: "5000.50" }, earnings: [{ reference: "pay_2" }] },
    ]);
  });
});

test("viewer.today contains the visits, collected amounts and earnings of this field partner's day only", async () => {
  const query = "{ viewer { id displayName today { visits collected { display } earned { display } } } }";
  const { data } = await app.ask(query);
  expect(data!["viewer"]).toEqual({
    id: expect.any(String),
    displayName: "Asha Rao",
    today: { visits: 1, collected: [{ display: "₹7,500.50" }], earned: [{ display: "₹187.50" }] },
  });
  const stranger = new AppClient(service.url, (await aFieldPartner(service)).accessToken);
  expect((await stranger.ask(query)).data).toMatchObject({
    viewer: { today: { visits: 0, collected: [], earned: [] } },
  });
  const node = await stranger.ask("query ($id: ID!) { node(id: $id) { id } }", { id: data!["viewer"].id });
  expect(node.data).toEqual({ node: null });
});

test("an earning of a case that was assigned to another field partner no longer shows the case", async () => {
  const next = await aFieldPartner(service);
  await assign(service, lender.code, "LN-1", next.id);
  const { data } = await app.ask("{ earningLines { edges { node { reference caseId case { id } } } } }");
  expect(data!["earningLines"].edges.map(({ node }: { node: object }) => node)).toEqual([
    { reference: "pay_2", caseId: expect.stringMatching(/^case_/), case: { id: expect.any(String) } },
    { reference: "pay_1", caseId: expect.stringMatching(/^case_/), case: null },
  ]);
});
