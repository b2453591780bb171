import { randomUUID } from "node:crypto";
import { holdCase, unassignCase } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { aCaseHolder, type CaseLender } from "../fixtures/case-holder.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";

const IN_A_MONTH = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);

let service: TestService;
let lender: CaseLender;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

describe("the query case", () => {
  test("returns what the field partner needs at the borrower's door, and no more", async () => {
    const me = await aCaseHolder(service);
    const { app } = me;
    const [id] = await me.cases(lender, {
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
        id caseId loanTail status workable blockedReason blockedReasonCode dpd bucket
        lender { code name }
        borrower { displayName maskedPhone language address }
        outstanding { currency minor decimal display } totalCollected { display(locale: "hi-IN") } minimum { decimal }
        visits { edges { node { visitId } } } openPromise { dueOn } activeLink { id } earnings { id }
        fallback { upiUri qrSvg bankAccount { accountNumber accountName ifsc swift } instructions }
        estimatedEarning { amount { decimal } formula calculation { percent base { decimal } baseBefore { minor } } }
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
      blockedReasonCode: null,
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
      estimatedEarning: {
        amount: { decimal: "125.00" },
        formula: "2.5% of ₹5,000.00",
        calculation: { percent: "2.5", base: { decimal: "5000.00" }, baseBefore: null },
      },
      half: { amount: { decimal: "62.50" }, formula: "2.5% of ₹2,500.00" },
      more: { amount: { decimal: "125.00" } },
    });
  });

  test("does not find another field partner's case, and neither do node, nodes, cases and startVisit", async () => {
    const me = await aCaseHolder(service);
    const { app } = me;
    const { app: stranger } = await aCaseHolder(service);
    const [id] = await me.cases(lender);
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

  test("returns a held case as not workable, and null for an unassigned case", async () => {
    const me = await aCaseHolder(service);
    const { app } = me;
    const held = { sourceLoanNumber: "HELD-1" };
    const taken = { sourceLoanNumber: "TAKEN-1" };
    const ids = await me.cases(lender, held, taken);
    const order = { lender: (await lenderByCode(service.app.database.em(), lender.code))!, reason: "complaint" };
    await holdCase(service.app.database.em(), { ...order, loan: held.sourceLoanNumber }, "sandbox");
    await unassignCase(service.app.database.em(), { ...order, loan: taken.sourceLoanNumber }, "sandbox");
    const query =
      "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Case { status workable blockedReason blockedReasonCode } } }";
    expect((await app.ask(query, { ids })).data).toEqual({
      nodes: [
        {
          status: "ON_HOLD",
          workable: false,
          blockedReason: "The case is on hold: do not contact the borrower.",
          blockedReasonCode: "ON_HOLD",
        },
        null,
      ],
    });
  });

  test("returns a case as not workable until its doNotContactUntil", async () => {
    const me = await aCaseHolder(service);
    const { app } = me;
    const [id] = await me.cases(lender, { doNotContactUntil: IN_A_MONTH });
    const { data } = await app.ask("query ($id: ID!) { case(id: $id) { workable blockedReason blockedReasonCode } }", {
      id,
    });
    expect(data!["case"]).toEqual({
      workable: false,
      blockedReason: "The borrower must not be contacted at the moment.",
      blockedReasonCode: "DO_NOT_CONTACT",
    });
  });
});

test("a case that ended more than seven days ago has only its id, lender, status and earnings", async () => {
  const me = await aCaseHolder(service);
  const { app } = me;
  const [id] = await me.cases(lender, { dpd: 45, addresses: [{ line1: "1 MG Road", city: "Pune" }] });
  await me.mintedLink(id!);
  const end = (days: number) =>
    service.app.database.pool.query(
      `update cases.collection_case set status = 'closed', close_reason = 'closed_by_operator',
         closed_at = now() - make_interval(days => $2) where assigned_field_partner_id = $1`,
      [me.id, days],
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
