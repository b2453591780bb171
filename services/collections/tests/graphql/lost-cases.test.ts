import { randomUUID } from "node:crypto";
import { lenderByCode } from "@collections/lenders";
import { eventsOf } from "@collections/webhooks";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const VISIT = "visit { visitId startCameLate disposition cameOutOfOrder } case { id openPromise { dueOn } }";
const HELD = { __typename: "VisitNotFound", code: "VISIT_NOT_FOUND" };
const AMOUNT = { minor: "250000", currency: "INR" };

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let fieldPartnerId: string;
/** Whoever had the case, and whoever has it by now. */
let app: AppClient;
let next: AppClient;
let nextId: string;
let loansMade = 0;

beforeAll(async () => {
  service = await startTestService({ works: false });
  lender = await aLender(service);
  const [before, after] = await Promise.all([aFieldPartner(service), aFieldPartner(service)]);
  [fieldPartnerId, nextId] = [before.id, after.id];
  app = new AppClient(service.url, before.accessToken);
  next = new AppClient(service.url, after.accessToken);
});

describe("a visit that is told of after its case was given to somebody else", () => {
  test("is recorded and flagged, and its dispute holds the case; its field partner gets neither case nor link", async () => {
    const { caseId, loan } = await aCase();
    const visitId = randomUUID();
    const occurredAt = hourAgo();
    const end = { idempotencyKey: randomUUID(), visitId, disposition: "DISPUTE", occurredAt };
    const wish = { idempotencyKey: randomUUID(), visitId, amount: AMOUNT };
    await assign(service, lender.code, loan, nextId);
    expect(await app.mutate("completeVisit", end, VISIT)).toMatchObject(HELD);
    expect(await app.mutate("requestPaymentLink", wish, "paymentLink { id }")).toMatchObject(HELD);
    const visit = { visitId, disposition: "DISPUTE", startCameLate: true, cameOutOfOrder: true };
    expect(await app.mutate("startVisit", { visitId, caseId, occurredAt }, VISIT)).toMatchObject({ visit, case: null });
    expect(await app.mutate("completeVisit", end, VISIT)).toMatchObject({ visit, case: null });
    expect(await app.mutate("requestPaymentLink", wish, "paymentLink { id }")).toMatchObject({
      __typename: "CaseNotWorkable",
    });
    const query = "query ($id: ID!) { case(id: $id) { status visits { edges { node { visitId isMine } } } } }";
    expect((await app.ask(query, { id: caseId })).data).toEqual({ case: null });
    expect((await next.ask(query, { id: caseId })).data).toEqual({
      case: { status: "ON_HOLD", visits: { edges: [{ node: { visitId, isMine: false } }] } },
    });
    const told = ["case.unassigned", "case.assigned", "visit.started", "visit.completed", "case.held"];
    expect((await kindsOf(loan)).slice(2)).toEqual(told);
  });

  test("gives its promise a place by the phones' clocks", async () => {
    const { caseId, loan } = await aCase();
    await assign(service, lender.code, loan, nextId);
    await promise(next, { caseId, occurredAt: new Date().toISOString(), dueOn: "2100-01-02" });
    await promise(app, { caseId, occurredAt: hourAgo(), dueOn: "2100-01-09" });
    const { data } = await next.ask("query ($id: ID!) { case(id: $id) { openPromise { dueOn } } }", { id: caseId });
    expect(data).toEqual({ case: { openPromise: { dueOn: "2100-01-02" } } });
  });

  test("and began after that, is refused as a visit to a case of nobody's is", async () => {
    const { caseId, loan } = await aCase();
    await assign(service, lender.code, loan, nextId);
    const begun = { visitId: randomUUID(), occurredAt: new Date(Date.now() + 1_000).toISOString() };
    const nobodys = Buffer.from(`Case:${randomUUID()}`).toString("base64url");
    const refusal = await app.mutate("startVisit", { ...begun, caseId: nobodys }, VISIT);
    expect(refusal).toMatchObject({ __typename: "CaseNotFound" });
    expect(await app.mutate("startVisit", { ...begun, caseId }, VISIT)).toEqual(refusal);
    expect((await kindsOf(loan)).slice(2)).toEqual(["case.unassigned", "case.assigned"]);
  });
});

async function promise(as: AppClient, given: { caseId: string; occurredAt: string; dueOn: string }): Promise<void> {
  const { caseId, occurredAt, dueOn } = given;
  const visit = { visitId: randomUUID(), occurredAt };
  expect(await as.mutate("startVisit", { ...visit, caseId }, VISIT)).toMatchObject({ __typename: "StartVisitPayload" });
  const end = { ...visit, disposition: "PROMISE_TO_PAY", promise: { amount: AMOUNT, dueOn } };
  expect(await as.mutate("completeVisit", end, VISIT)).toMatchObject({ __typename: "CompleteVisitPayload" });
}

async function aCase(): Promise<{ loan: string; caseId: string }> {
  loansMade += 1;
  const loan = `LN-${loansMade}`;
  await lender.importCases([aRow(loan)]);
  await assign(service, lender.code, loan, fieldPartnerId);
  const { data } = await app.ask("{ cases(first: 1) { edges { node { id } } } }");
  return { loan, caseId: data!["cases"].edges[0].node.id };
}

function hourAgo(): string {
  return new Date(Date.now() - 3_600_000).toISOString();
}

async function kindsOf(loan: string): Promise<string[]> {
  const em = service.app.database.em();
  const { id } = (await lenderByCode(em, lender.code))!;
  return (await eventsOf(em, id, loan)).map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
}
