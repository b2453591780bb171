import { randomUUID } from "node:crypto";
import { forgetQueuedRequests, MAX_QUEUED_REQUESTS } from "@collections/cases";
import { newId, transaction } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { runLeftoverRequests } from "../../src/mutation-results/queued-requests.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { loanEvents } from "../fixtures/loan-events.ts";
import { dayFromNow, type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";

const VISIT = `visit { visitId startReceivedAt completedAt completionReceivedAt completionCameLate disposition note
  cameOutOfOrder } case { id status workable openPromise { amount { minor } dueOn } }`;
const LINK = "paymentLink { id status cameOutOfOrder amount { minor } }";
const QUEUED = { __typename: "VisitNotFound", code: "VISIT_NOT_FOUND", isHeld: true };
const AMOUNT = { minor: "250000", currency: "INR" };

let service: TestService;
let setup: VisitSetup;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  setup = await visitSetup(service);
});

describe("a visit's end or link request that arrives before the visit's start", () => {
  test("is queued, and is processed when the start of the visit arrives, so that a repeat gets the result", async () => {
    const { caseId, loan } = await setup.assignedCase();
    const visitId = randomUUID();
    const promise = { amount: AMOUNT, dueOn: dayFromNow(5) };
    const linkRequest = aLinkRequest({ visitId });
    const end = aVisitEnd({ visitId, disposition: "PROMISE_TO_PAY", promise, note: "After payday." });
    expect(await requestLink(linkRequest)).toMatchObject(QUEUED);
    expect(await complete(end)).toMatchObject(QUEUED);
    expect(await complete(end)).toMatchObject(QUEUED);
    expect(await start({ visitId, caseId })).toMatchObject({
      visit: {
        disposition: "PROMISE_TO_PAY",
        completedAt: end.occurredAt,
        note: "After payday.",
        cameOutOfOrder: true,
      },
      case: { status: "IN_PROGRESS", openPromise: { amount: { minor: AMOUNT.minor }, dueOn: promise.dueOn } },
    });
    const completed = await complete(end);
    expect(completed).toMatchObject({ __typename: "CompleteVisitPayload", visit: { visitId, cameOutOfOrder: true } });
    expect(Date.parse(completed.visit.completionReceivedAt)).toBeLessThan(Date.parse(completed.visit.startReceivedAt));
    const requested = await requestLink(linkRequest);
    expect(requested).toMatchObject({
      paymentLink: { status: "REQUESTED", cameOutOfOrder: true, amount: AMOUNT_SHOWN },
    });
    expect(await requestLink(linkRequest)).toEqual(requested);
    expect(await kindsOf(loan)).toEqual(["case.created", "case.assigned", "visit.started", "visit.completed"]);
  });

  test("gets IdempotencyConflict for another input under the same idempotency key, both while queued and after processing", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const end = aVisitEnd({ visitId, disposition: "OTHER" });
    await complete(end);
    const another = { ...end, disposition: "REFUSED_TO_PAY" };
    expect(await complete(another)).toMatchObject({ __typename: "IdempotencyConflict" });
    await start({ visitId, caseId });
    expect(await complete(another)).toMatchObject({ __typename: "IdempotencyConflict" });
    expect(await complete(end)).toMatchObject({ visit: { disposition: "OTHER" } });
  });

  test("is rejected when the start arrives, as if it had arrived after the start", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const [tooMuch, first, second] = [
      aLinkRequest({ visitId, minor: "999999999" }),
      aVisitEnd({ visitId }),
      aVisitEnd({ visitId }),
    ];
    const dispute = { ...second, disposition: "DISPUTE" };
    for (const answer of [await requestLink(tooMuch), await complete(first), await complete(dispute)]) {
      expect(answer).toMatchObject(QUEUED);
    }
    expect(await start({ visitId, caseId })).toMatchObject({ case: { workable: true } });
    expect(await requestLink(tooMuch)).toMatchObject({ __typename: "AmountNotAllowed" });
    expect(await complete(first)).toMatchObject({ visit: { disposition: "OTHER" } });
    expect(await complete(dispute)).toMatchObject({ __typename: "VisitAlreadyCompleted" });
  });

  test("puts the case on hold if it reports a dispute, and then a queued link request is rejected", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const linkRequest = aLinkRequest({ visitId });
    await requestLink(linkRequest);
    await complete(aVisitEnd({ visitId, disposition: "DISPUTE" }));
    expect(await start({ visitId, caseId })).toMatchObject({ case: { status: "ON_HOLD", workable: false } });
    expect(await requestLink(linkRequest)).toMatchObject({ __typename: "CaseNotWorkable" });
  });

  test("does not prevent the visit's start even if its own input can never be valid", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const promise = { amount: { minor: "100", currency: "JPY" }, dueOn: dayFromNow(1) };
    const end = aVisitEnd({ visitId, disposition: "PROMISE_TO_PAY", promise });
    expect(await complete(end)).toMatchObject(QUEUED);
    expect(await start({ visitId, caseId })).toMatchObject({ visit: { completedAt: null } });
    await expect(complete(end)).rejects.toThrow(/BAD_INPUT/);
    const { idempotencyKey } = end;
    expect(await complete({ ...aVisitEnd({ visitId }), idempotencyKey })).toMatchObject({
      visit: { disposition: "OTHER" },
    });
  });

  test("is processed when it arrives at the same time as the start, whichever is first", async () => {
    const cases = [
      await setup.assignedCase(),
      await setup.assignedCase(),
      await setup.assignedCase(),
      await setup.assignedCase(),
      await setup.assignedCase(),
      await setup.assignedCase(),
    ];
    for (const { caseId, loan } of cases) {
      const visitId = randomUUID();
      const [end, linkRequest] = [aVisitEnd({ visitId }), aLinkRequest({ visitId })];
      await Promise.all([
        complete(end),
        start({ visitId, caseId }),
        requestLink(linkRequest),
        complete(end),
        requestLink(linkRequest),
      ]);
      expect(await complete(end)).toMatchObject({ visit: { disposition: "OTHER" } });
      expect(await requestLink(linkRequest)).toMatchObject({ paymentLink: { status: "REQUESTED" } });
      expect((await kindsOf(loan)).slice(2)).toEqual(["visit.started", "visit.completed"]);
      const { rows } = await rowsOf("select count(*) from payment_links.payment_link where visit_id = $1", visitId);
      expect(rows).toEqual([{ count: "1" }]);
    }
  });
});

describe("a queued request", () => {
  test("belongs to its field partner: another field partner's visit with the same visitId does not process it", async () => {
    const { caseId, loan } = await setup.assignedCase();
    const stranger = await aFieldPartner(service);
    const theirs = new AppClient(service.url, stranger.accessToken);
    const visitId = randomUUID();
    const end = aVisitEnd({ visitId, disposition: "DISPUTE" });
    expect(await complete(end, theirs)).toMatchObject(QUEUED);
    expect(await start({ visitId, caseId })).toMatchObject({ visit: { completedAt: null }, case: { workable: true } });
    // The answer is the same whether another field partner's visit exists or not.
    expect(await complete(end, theirs)).toMatchObject(QUEUED);
    expect(await complete({ ...end, idempotencyKey: randomUUID() }, theirs)).toMatchObject(QUEUED);
    expect((await kindsOf(loan)).at(-1)).toBe("visit.started");
  });

  test("is processed when the app repeats it, if a process of an older version handled the visit's start", async () => {
    const { caseId } = await setup.assignedCase();
    const visitId = randomUUID();
    const [end, linkRequest] = [aVisitEnd({ visitId }), aLinkRequest({ visitId })];
    await complete(end);
    await requestLink(linkRequest);
    await startByOlderProcess({ visitId, caseId });
    expect(await complete(end)).toMatchObject({ visit: { disposition: "OTHER", cameOutOfOrder: false } });
    const requested = await requestLink(linkRequest);
    expect(requested).toMatchObject({ paymentLink: { status: "REQUESTED" } });
    await start({ visitId, caseId });
    expect(await requestLink(linkRequest)).toEqual(requested);
    expect((await rowsOf("select from cases.held_request where visit_id = $1", visitId)).rows).toEqual([]);
  });

  test("is processed before it expires, even if the app never repeats it or a queued request of another visit fails", async () => {
    const cases = [await setup.assignedCase(), await setup.assignedCase()];
    const ends = cases.map(() => aVisitEnd({ visitId: randomUUID(), disposition: "DISPUTE" }));
    const linkRequest = aLinkRequest({ visitId: ends[1]!.visitId });
    for (const end of ends) await complete(end);
    await requestLink(linkRequest);
    for (const [place, { visitId }] of ends.entries()) {
      await startByOlderProcess({ visitId, caseId: cases[place]!.caseId });
    }
    await rowsOf(
      `update cases.held_request set input = jsonb_set(input, '{disposition}', '"NEVER"') where visit_id = $1`,
      ends[0]!.visitId,
    );
    await runLeftoverRequests(service.app);
    expect((await kindsOf(cases[1]!.loan)).slice(-3)).toEqual(["visit.started", "visit.completed", "case.held"]);
    expect(await requestLink(linkRequest)).toMatchObject({ __typename: "CaseNotWorkable" });
    expect((await rowsOf("select from cases.held_request where visit_id = $1", ends[0]!.visitId)).rows).toHaveLength(1);
    expect(await complete(ends[0]!)).toMatchObject({ visit: { disposition: "DISPUTE" } });
  });

  test(`expires after 7 days, and counts towards its field partner's limit of ${MAX_QUEUED_REQUESTS} queued requests`, async () => {
    const { id, accessToken } = await aFieldPartner(service);
    const theirs = new AppClient(service.url, accessToken);
    await service.app.database.pool.query(
      `insert into cases.held_request (field_partner_id, mutation, key, visit_id, input, received_at)
       select $1, 'completeVisit', gen_random_uuid(), gen_random_uuid(), '{}', now() from generate_series(4, $2)`,
      [id, MAX_QUEUED_REQUESTS],
    );
    const ends = Array.from({ length: 6 }, () => aVisitEnd({ visitId: randomUUID() }));
    const answers = await Promise.all(ends.map((end) => complete(end, theirs)));
    const [tooMany] = answers.flatMap(({ isHeld }, index) => (isHeld ? [] : [ends[index]!]));
    expect(answers.filter(({ isHeld }) => isHeld)).toHaveLength(3);
    await setup.lender.importCases([aRow("LN-CAP")]);
    await assign(service, setup.lender.code, "LN-CAP", id);
    const { data } = await theirs.ask("{ cases(first: 1) { edges { node { id } } } }");
    const caseId = data!["cases"].edges[0].node.id as string;
    const visitId = tooMany!.visitId;
    expect(await start({ visitId, caseId }, theirs)).toMatchObject({ visit: { completedAt: null } });
    expect(await complete(tooMany!, theirs)).toMatchObject({ visit: { disposition: "OTHER" } });

    const { database } = service.app;
    const inAWeek = new Date(Date.now() + 7 * 86_400_000 + 60_000);
    const forgotten = await transaction(database.em(), (tx) => forgetQueuedRequests(tx, inAWeek));
    expect(forgotten).toBeGreaterThanOrEqual(MAX_QUEUED_REQUESTS);
    expect(await complete(aVisitEnd({ visitId: randomUUID() }), theirs)).toMatchObject(QUEUED);
  });
});

describe("a visit's end that can never be valid", () => {
  const promise = { amount: AMOUNT, dueOn: dayFromNow(1) };
  test.each([
    ["a missing promise", { disposition: "PROMISE_TO_PAY" }],
    ["a promise with another disposition", { disposition: "OTHER", promise }],
    [
      "a promise of amount 0",
      { disposition: "PROMISE_TO_PAY", promise: { ...promise, amount: { ...AMOUNT, minor: "0" } } },
    ],
    [
      "a promise for the day before yesterday",
      { disposition: "PROMISE_TO_PAY", promise: { ...promise, dueOn: dayFromNow(-2) } },
    ],
    ["a note that is too long", { note: "x".repeat(2_001) }],
  ])("because of %s is not queued, and its idempotency key stays unused", async (_, fields) => {
    const end = aVisitEnd({ visitId: randomUUID(), ...fields });
    await expect(complete(end)).rejects.toThrow(/BAD_INPUT/);
    const { idempotencyKey, visitId } = end;
    expect((await rowsOf("select from cases.held_request where visit_id = $1", visitId)).rows).toEqual([]);
    expect(await complete({ ...aVisitEnd({ visitId }), idempotencyKey })).toMatchObject(QUEUED);
  });
});

const AMOUNT_SHOWN = { minor: AMOUNT.minor };

interface VisitEndFields {
  readonly visitId: string;
  readonly disposition?: string;
  readonly promise?: object;
  readonly note?: string;
}

function aVisitEnd(fields: VisitEndFields) {
  return { idempotencyKey: newId(), disposition: "OTHER", occurredAt: new Date().toISOString(), ...fields };
}

function aLinkRequest({ visitId, minor = AMOUNT.minor }: { visitId: string; minor?: string }) {
  return { idempotencyKey: newId(), visitId, amount: { ...AMOUNT, minor } };
}

/** Starts a visit as a process of an older version does: queued requests stay unprocessed. */
async function startByOlderProcess(visit: { visitId: string; caseId: string }): Promise<void> {
  const takeQueued = "delete from cases.held_request where visit_id = $1 returning *";
  const { rows: waiting } = await rowsOf(takeQueued, visit.visitId);
  await start(visit);
  const { pool } = service.app.database;
  const refusal = { code: "VISIT_NOT_FOUND", message: "No such visit.", isHeld: true };
  for (const row of waiting) {
    await pool.query(
      "insert into cases.held_request select * from jsonb_populate_record(null::cases.held_request, $1)",
      [JSON.stringify(row)],
    );
    const result = JSON.stringify({ refusal });
    await pool.query("update field_partners.mutation_result set result = $2 where key = $1", [row["key"], result]);
  }
}

function start(input: { visitId: string; caseId: string }, as = setup.app) {
  return as.mutate("startVisit", { occurredAt: new Date().toISOString(), ...input }, VISIT);
}

function complete(input: ReturnType<typeof aVisitEnd>, as = setup.app) {
  return as.mutate("completeVisit", input, `${VISIT} } ... on VisitNotFound { isHeld`);
}

function requestLink(input: ReturnType<typeof aLinkRequest>, as = setup.app) {
  return as.mutate("requestPaymentLink", input, `${LINK} } ... on VisitNotFound { isHeld`);
}

async function kindsOf(loan: string): Promise<string[]> {
  return (await loanEvents(service, setup.lender.code, loan)).map(({ kind }) => kind);
}

function rowsOf(text: string, visitId: string) {
  return service.app.database.pool.query<Record<string, unknown>>(text, [visitId]);
}
