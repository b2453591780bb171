import { randomUUID } from "node:crypto";
import { publicId } from "@collections/database";
import { releaseCase } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { loanEvents } from "../fixtures/loan-events.ts";
import { dayFromNow, type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";

const VISIT = `visit { visitId isMine startedAt startCameLate completedAt completionCameLate disposition note }
  case { id status workable openPromise { amount { minor } dueOn } }`;

let service: TestService;
let setup: VisitSetup;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  setup = await visitSetup(service);
});

describe("a visit", () => {
  test("starts, moves the case to in progress and ends with a promise, and the lender gets both events", async () => {
    const { caseId, loan } = await setup.assignedCase();
    const visitId = randomUUID();
    const begun = await start({ visitId, caseId, latitude: 18.52, longitude: 73.85, accuracyM: 12 });
    expect(begun).toMatchObject({
      __typename: "StartVisitPayload",
      visit: { visitId, isMine: true, startCameLate: false, completedAt: null, disposition: null },
      case: { id: caseId, status: "IN_PROGRESS", workable: true, openPromise: null },
    });
    const promise = { amount: { minor: "250000", currency: "INR" }, dueOn: dayFromNow(5) };
    const ended = await complete({ visitId, disposition: "PROMISE_TO_PAY", promise, note: "After payday." });
    expect(ended).toMatchObject({
      __typename: "CompleteVisitPayload",
      visit: { visitId, disposition: "PROMISE_TO_PAY", note: "After payday.", completedAt: expect.any(String) },
      case: { openPromise: { amount: { minor: "250000" }, dueOn: promise.dueOn } },
    });
    expect((await eventsOfLoan(loan)).slice(-2)).toMatchObject([
      { kind: "visit.started", sequence: 3, data: { visitId: `vis_${visitId.replaceAll("-", "")}` } },
      {
        kind: "visit.completed",
        sequence: 4,
        data: {
          disposition: "PROMISE_TO_PAY",
          promise: { amount: 2500, currency: "INR", date: promise.dueOn },
          fieldPartner: { id: publicId("fp", setup.fieldPartnerId), displayName: "Asha Rao" },
        },
      },
    ]);
  });

  test("that the phone reports hours later is recorded as late", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const occurredAt = new Date(Date.now() - 3 * 3_600_000).toISOString();
    const begun = await start({ visitId, caseId, occurredAt });
    expect(begun.visit).toMatchObject({ startedAt: occurredAt, startCameLate: true });
    const ended = await complete({ visitId, disposition: "NOT_AT_HOME", occurredAt });
    expect(ended.visit).toMatchObject({ completedAt: occurredAt, completionCameLate: true });
  });

  test("by a phone whose clock was reset is recorded and marked", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const occurredAt = "1970-01-01T00:05:00.000Z";
    const clocks = "visit { startClockWrong completionClockWrong startedAt startReceivedAt }";
    const begun = await setup.app.mutate("startVisit", { visitId, caseId, occurredAt }, clocks);
    const ended = await setup.app.mutate("completeVisit", { visitId, disposition: "SHIFTED", occurredAt }, clocks);
    expect(begun.visit).toMatchObject({ startClockWrong: true, startedAt: begun.visit.startReceivedAt });
    expect(ended.visit).toMatchObject({ startClockWrong: true, completionClockWrong: true });
  });

  test("with a dispute puts the case on hold, so that the next visit is rejected", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    await start({ visitId, caseId });
    expect(await complete({ visitId, disposition: "DISPUTE" })).toMatchObject({
      case: { status: "ON_HOLD", workable: false },
    });
    expect(await start({ visitId: randomUUID(), caseId })).toEqual({
      __typename: "CaseNotWorkable",
      code: "CASE_NOT_WORKABLE",
      message: "The case is on hold: do not contact the borrower.",
    });
  });

  test("is listed among the case's visits, together with the visits of earlier field partners", async () => {
    const { caseId, loan } = await setup.assignedCase();
    const before = await aFieldPartner(service);
    await assign(service, setup.lender.code, loan, before.id);
    const earlier = randomUUID();
    await start({ visitId: earlier, caseId }, new AppClient(service.url, before.accessToken));
    await assign(service, setup.lender.code, loan, setup.fieldPartnerId);
    const mine = [randomUUID(), randomUUID()];
    for (const visitId of mine) await start({ visitId, caseId });
    const query = `query ($id: ID!, $after: String) { case(id: $id) { visits(first: 2, after: $after) {
      edges { node { visitId isMine } } pageInfo { hasNextPage endCursor } } } }`;
    const { visits: first } = (await setup.app.ask(query, { id: caseId })).data!["case"];
    const { visits: second } = (await setup.app.ask(query, { id: caseId, after: first.pageInfo.endCursor })).data![
      "case"
    ];
    expect([...first.edges, ...second.edges].map(({ node }) => node)).toEqual([
      { visitId: mine[1], isMine: true },
      { visitId: mine[0], isMine: true },
      { visitId: earlier, isMine: false },
    ]);
    expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false]);
  });
});

describe("a mutation on visits", () => {
  test("takes effect once for ten concurrent requests with one idempotency key, and gives all of them the same answer", async () => {
    const { caseId, loan } = await setup.assignedCase();
    const input = { idempotencyKey: randomUUID(), visitId: randomUUID(), caseId, occurredAt: new Date().toISOString() };
    const answers = await Promise.all(Array.from({ length: 10 }, () => start(input)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ __typename: "StartVisitPayload", visit: { visitId: input.visitId } });
    expect((await eventsOfLoan(loan)).filter(({ kind }) => kind === "visit.started")).toHaveLength(1);
  });

  test("under a used idempotency key is a repeat if its input means the same, and a conflict otherwise", async () => {
    const { caseId } = await setup.assignedCase();
    const input = { idempotencyKey: randomUUID(), visitId: randomUUID(), caseId, occurredAt: "2026-11-20T09:00:00Z" };
    const first = await start(input);
    expect(await start({ ...input, occurredAt: "2026-11-20T14:30:00+05:30", latitude: null })).toEqual(first);
    const key = input.idempotencyKey.toUpperCase();
    expect(await start({ ...input, idempotencyKey: key, occurredAt: "2026-11-20T09:00:01Z" })).toEqual({
      __typename: "IdempotencyConflict",
      code: "IDEMPOTENCY_CONFLICT",
      message: "This idempotencyKey was used with another input; make a new key for a new request.",
    });
    // An idempotency key belongs to one mutation, so another mutation may use the same key.
    const end = { idempotencyKey: input.idempotencyKey, visitId: input.visitId, disposition: "OTHER" };
    expect(await complete(end)).toMatchObject({ __typename: "CompleteVisitPayload" });
  });

  test("is rejected again with the same message after a rejection", async () => {
    const { caseId, loan } = await setup.assignedCase();
    const visitId = randomUUID();
    await start({ visitId, caseId });
    await complete({ visitId, disposition: "DISPUTE" });
    const occurredAt = new Date().toISOString();
    const next = { idempotencyKey: randomUUID(), visitId: randomUUID(), caseId, occurredAt };
    const refusal = await start(next);
    expect(refusal).toMatchObject({ __typename: "CaseNotWorkable" });
    await release();
    expect(await start(next)).toEqual(refusal);
    expect(await start({ ...next, idempotencyKey: randomUUID() })).toMatchObject({ visit: { completedAt: null } });

    async function release(): Promise<void> {
      const owner = (await lenderByCode(service.app.database.em(), setup.lender.code))!;
      const order = { lender: owner, loan, reason: null };
      expect(await releaseCase(service.app.database.em(), order, "test")).toMatchObject({ kind: "done" });
    }
  });

  test("sees the effects of earlier mutations in the same operation", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const occurredAt = new Date().toISOString();
    const { data, errors } = await setup.app.ask(
      `mutation ($begin: StartVisitInput!, $end: CompleteVisitInput!) {
        begin: startVisit(input: $begin) { ... on StartVisitPayload { case { status } } }
        end: completeVisit(input: $end) { ... on CompleteVisitPayload { case { status } } }
      }`,
      {
        begin: { idempotencyKey: randomUUID(), visitId, caseId, occurredAt },
        end: { idempotencyKey: randomUUID(), visitId, disposition: "DISPUTE", occurredAt },
      },
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({ begin: { case: { status: "IN_PROGRESS" } }, end: { case: { status: "ON_HOLD" } } });
  });

  test("under a new idempotency key is checked against the effects of earlier mutations", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const occurredAt = new Date().toISOString();
    const first = await start({ visitId, caseId, occurredAt });
    expect(await start({ visitId, caseId, occurredAt })).toEqual(first);
    await complete({ visitId, disposition: "OTHER" });
    expect(await complete({ visitId, disposition: "REFUSED_TO_PAY" })).toEqual({
      __typename: "VisitAlreadyCompleted",
      code: "VISIT_ALREADY_COMPLETED",
      message: "The visit has already ended with the disposition OTHER.",
    });
    const { caseId: another } = await setup.assignedCase();
    expect(await start({ visitId, caseId: another })).toMatchObject({
      __typename: "VisitIdTaken",
      code: "VISIT_ID_TAKEN",
    });
  });
});

describe("invalid input of a mutation on visits", () => {
  test.each([
    ["a time without its offset", { occurredAt: "2026-11-20T09:00:00" }, /offset/],
    ["a time on a day that does not exist", { occurredAt: "2026-02-30T09:00:00Z" }, /Expected a time/],
    ["a latitude without a longitude", { latitude: 18.5 }, /latitude and longitude/],
    ["a latitude above 90", { latitude: 91, longitude: 0 }, /latitude/],
    ["an id that is not a UUID", { visitId: "vis_1" }, /Expected a UUID/],
    [
      "the id of another type",
      { caseId: Buffer.from(`PaymentLink:${randomUUID()}`).toString("base64url") },
      /not of type: Case/,
    ],
    [
      "the lender's id of a case",
      { caseId: "case_0192f0a17c3e7d429c550b2f6a1d8e01" },
      /exactly as an `id` field returned it/,
    ],
  ])("such as %s is rejected as a whole, and its idempotency key stays unused", async (_, fields, words) => {
    const { caseId } = await setup.assignedCase();
    const input = { idempotencyKey: randomUUID(), visitId: randomUUID(), caseId, occurredAt: new Date().toISOString() };
    const query = "mutation ($input: StartVisitInput!) { startVisit(input: $input) { __typename } }";
    const { data, errors } = await setup.app.ask(query, { input: { ...input, ...fields } });
    expect(data?.["startVisit"] ?? null).toBeNull();
    expect(errors).toMatchObject([{ message: expect.stringMatching(words), extensions: { code: "BAD_INPUT" } }]);
    expect((await setup.app.ask(query, { input })).data).toEqual({ startVisit: { __typename: "StartVisitPayload" } });
  });

  test.each([
    [
      "a promise without the disposition",
      { disposition: "OTHER", promise: { amount: { minor: "1", currency: "INR" }, dueOn: dayFromNow(1) } },
    ],
    ["the disposition without a promise", { disposition: "PROMISE_TO_PAY" }],
    [
      "a promise of amount 0",
      { disposition: "PROMISE_TO_PAY", promise: { amount: { minor: "0", currency: "INR" }, dueOn: dayFromNow(1) } },
    ],
    [
      "a promise of a fraction of a minor unit",
      { disposition: "PROMISE_TO_PAY", promise: { amount: { minor: "10.5", currency: "INR" }, dueOn: dayFromNow(1) } },
    ],
    [
      "a promise in another currency",
      { disposition: "PROMISE_TO_PAY", promise: { amount: { minor: "1", currency: "JPY" }, dueOn: dayFromNow(1) } },
    ],
    [
      "a promise on a day that does not exist",
      { disposition: "PROMISE_TO_PAY", promise: { amount: { minor: "1", currency: "INR" }, dueOn: "2026-02-30" } },
    ],
    ["a note that is too long", { disposition: "OTHER", note: "x".repeat(2_001) }],
    ["an unknown disposition", { disposition: "ON_HOLIDAY" }],
  ])("such as %s does not complete a visit", async (_, fields) => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    await start({ visitId, caseId });
    const input = { idempotencyKey: randomUUID(), visitId, occurredAt: new Date().toISOString(), ...fields };
    const query = "mutation ($input: CompleteVisitInput!) { completeVisit(input: $input) { __typename } }";
    const { errors } = await setup.app.ask(query, { input });
    expect(errors).toMatchObject([{ extensions: { code: "BAD_INPUT" } }]);
  });
});

function start(input: { visitId: string; caseId: string; [field: string]: unknown }, as = setup.app) {
  return as.mutate("startVisit", { occurredAt: new Date().toISOString(), ...input }, VISIT);
}

function complete(input: { visitId: string; disposition: string; [field: string]: unknown }) {
  return setup.app.mutate("completeVisit", { occurredAt: new Date().toISOString(), ...input }, VISIT);
}

function eventsOfLoan(loan: string) {
  return loanEvents(service, setup.lender.code, loan);
}
