import { randomUUID } from "node:crypto";
import { forgetQueuedRequests, MAX_QUEUED_REQUESTS } from "@collections/cases";
import { newId, transaction } from "@collections/database";
import { lenderByCode } from "@collections/lenders";
import { eventsOf } from "@collections/webhooks";
import { beforeAll, describe, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { runLeftoverRequests } from "../../src/mutation-results/queued-requests.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const VISIT = `visit { visitId startReceivedAt completedAt completionReceivedAt completionCameLate disposition note
  cameOutOfOrder } case { id status workable openPromise { amount { minor } dueOn } }`;
const LINK = "paymentLink { id status cameOutOfOrder amount { minor } }";
const HELD = { __typename: "VisitNotFound", code: "VISIT_NOT_FOUND", isHeld: true };
const AMOUNT = { minor: "250000", currency: "INR" };

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let fieldPartnerId: string;
let app: AppClient;
let loansMade = 0;

beforeAll(async () => {
  service = await startTestService({ works: false });
  lender = await aLender(service);
  const fieldPartner = await aFieldPartner(service);
  fieldPartnerId = fieldPartner.id;
  app = new AppClient(service.url, fieldPartner.accessToken);
});

describe("what is told of a visit before its start", () => {
  test("is held, and done when the start arrives; the same request again then shows it", async () => {
    const { caseId, loan } = await aCase();
    const visitId = randomUUID();
    const promise = { amount: AMOUNT, dueOn: dayFromNow(5) };
    const wish = asked({ visitId });
    const end = ended({ visitId, disposition: "PROMISE_TO_PAY", promise, note: "After payday." });
    expect(await request(wish)).toMatchObject(HELD);
    expect(await complete(end)).toMatchObject(HELD);
    expect(await complete(end)).toMatchObject(HELD);
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
    const requested = await request(wish);
    expect(requested).toMatchObject({
      paymentLink: { status: "REQUESTED", cameOutOfOrder: true, amount: AMOUNT_SHOWN },
    });
    expect(await request(wish)).toEqual(requested);
    expect(await kindsOf(loan)).toEqual(["case.created", "case.assigned", "visit.started", "visit.completed"]);
  });

  test("keeps to its key: another input with it is a conflict, held or done", async () => {
    const { caseId } = await aCase();
    const visitId = randomUUID();
    const end = ended({ visitId, disposition: "OTHER" });
    await complete(end);
    const another = { ...end, disposition: "REFUSED_TO_PAY" };
    expect(await complete(another)).toMatchObject({ __typename: "IdempotencyConflict" });
    await start({ visitId, caseId });
    expect(await complete(another)).toMatchObject({ __typename: "IdempotencyConflict" });
    expect(await complete(end)).toMatchObject({ visit: { disposition: "OTHER" } });
  });

  test("is refused once the start is there, as it would have been after it", async () => {
    const { caseId } = await aCase();
    const visitId = randomUUID();
    const [tooMuch, first, second] = [asked({ visitId, minor: "999999999" }), ended({ visitId }), ended({ visitId })];
    const dispute = { ...second, disposition: "DISPUTE" };
    for (const held of [await request(tooMuch), await complete(first), await complete(dispute)]) {
      expect(held).toMatchObject(HELD);
    }
    expect(await start({ visitId, caseId })).toMatchObject({ case: { workable: true } });
    expect(await request(tooMuch)).toMatchObject({ __typename: "AmountNotAllowed" });
    expect(await complete(first)).toMatchObject({ visit: { disposition: "OTHER" } });
    expect(await complete(dispute)).toMatchObject({ __typename: "VisitAlreadyCompleted" });
  });

  test("holds the case by its dispute, so that the link that was asked for with it is not made", async () => {
    const { caseId } = await aCase();
    const visitId = randomUUID();
    const wish = asked({ visitId });
    await request(wish);
    await complete(ended({ visitId, disposition: "DISPUTE" }));
    expect(await start({ visitId, caseId })).toMatchObject({ case: { status: "ON_HOLD", workable: false } });
    expect(await request(wish)).toMatchObject({ __typename: "CaseNotWorkable" });
  });

  test("and can never be right does not stand in the way of the start", async () => {
    const { caseId } = await aCase();
    const visitId = randomUUID();
    const promise = { amount: { minor: "100", currency: "JPY" }, dueOn: dayFromNow(1) };
    const end = ended({ visitId, disposition: "PROMISE_TO_PAY", promise });
    expect(await complete(end)).toMatchObject(HELD);
    expect(await start({ visitId, caseId })).toMatchObject({ visit: { completedAt: null } });
    await expect(complete(end)).rejects.toThrow(/BAD_INPUT/);
    const { idempotencyKey } = end;
    expect(await complete({ ...ended({ visitId }), idempotencyKey })).toMatchObject({
      visit: { disposition: "OTHER" },
    });
  });

  test("at the same moment as the start is done, whichever is faster", async () => {
    const cases = [await aCase(), await aCase(), await aCase(), await aCase(), await aCase(), await aCase()];
    for (const { caseId, loan } of cases) {
      const visitId = randomUUID();
      const [end, wish] = [ended({ visitId }), asked({ visitId })];
      await Promise.all([complete(end), start({ visitId, caseId }), request(wish), complete(end), request(wish)]);
      expect(await complete(end)).toMatchObject({ visit: { disposition: "OTHER" } });
      expect(await request(wish)).toMatchObject({ paymentLink: { status: "REQUESTED" } });
      expect((await kindsOf(loan)).slice(2)).toEqual(["visit.started", "visit.completed"]);
      const { rows } = await rowsOf("select count(*) from payment_links.payment_link where visit_id = $1", visitId);
      expect(rows).toEqual([{ count: "1" }]);
    }
  });
});

describe("what is held", () => {
  test("is the field partner's own: the same visitId of somebody else does not bring it about", async () => {
    const { caseId, loan } = await aCase();
    const stranger = await aFieldPartner(service);
    const theirs = new AppClient(service.url, stranger.accessToken);
    const visitId = randomUUID();
    const end = ended({ visitId, disposition: "DISPUTE" });
    expect(await complete(end, theirs)).toMatchObject(HELD);
    expect(await start({ visitId, caseId })).toMatchObject({ visit: { completedAt: null }, case: { workable: true } });
    // A visit that there is, and none: the same answer.
    expect(await complete(end, theirs)).toMatchObject(HELD);
    expect(await complete({ ...end, idempotencyKey: randomUUID() }, theirs)).toMatchObject(HELD);
    expect((await kindsOf(loan)).at(-1)).toBe("visit.started");
  });

  test("is done by a repeat, where a process of an older version has worked the start", async () => {
    const { caseId } = await aCase();
    const visitId = randomUUID();
    const [end, wish] = [ended({ visitId }), asked({ visitId })];
    await complete(end);
    await request(wish);
    await startByOlderProcess({ visitId, caseId });
    expect(await complete(end)).toMatchObject({ visit: { disposition: "OTHER", cameOutOfOrder: false } });
    const requested = await request(wish);
    expect(requested).toMatchObject({ paymentLink: { status: "REQUESTED" } });
    await start({ visitId, caseId });
    expect(await request(wish)).toEqual(requested);
    expect((await rowsOf("select from cases.held_request where visit_id = $1", visitId)).rows).toEqual([]);
  });

  test("is done without a repeat before it would be forgotten, whatever of another visit fails", async () => {
    const cases = [await aCase(), await aCase()];
    const ends = cases.map(() => ended({ visitId: randomUUID(), disposition: "DISPUTE" }));
    const wish = asked({ visitId: ends[1]!.visitId });
    for (const end of ends) await complete(end);
    await request(wish);
    for (const [place, { visitId }] of ends.entries()) {
      await startByOlderProcess({ visitId, caseId: cases[place]!.caseId });
    }
    await rowsOf(
      `update cases.held_request set input = jsonb_set(input, '{disposition}', '"NEVER"') where visit_id = $1`,
      ends[0]!.visitId,
    );
    await runLeftoverRequests(service.app);
    expect((await kindsOf(cases[1]!.loan)).slice(-3)).toEqual(["visit.started", "visit.completed", "case.held"]);
    expect(await request(wish)).toMatchObject({ __typename: "CaseNotWorkable" });
    expect((await rowsOf("select from cases.held_request where visit_id = $1", ends[0]!.visitId)).rows).toHaveLength(1);
    expect(await complete(ends[0]!)).toMatchObject({ visit: { disposition: "DISPUTE" } });
  });

  test(`is ${MAX_QUEUED_REQUESTS} requests at most, and for 7 days`, async () => {
    const { id, accessToken } = await aFieldPartner(service);
    const theirs = new AppClient(service.url, accessToken);
    await service.app.database.pool.query(
      `insert into cases.held_request (field_partner_id, mutation, key, visit_id, input, received_at)
       select $1, 'completeVisit', gen_random_uuid(), gen_random_uuid(), '{}', now() from generate_series(4, $2)`,
      [id, MAX_QUEUED_REQUESTS],
    );
    const ends = Array.from({ length: 6 }, () => ended({ visitId: randomUUID() }));
    const answers = await Promise.all(ends.map((end) => complete(end, theirs)));
    const [tooMany] = answers.flatMap(({ isHeld }, index) => (isHeld ? [] : [ends[index]!]));
    expect(answers.filter(({ isHeld }) => isHeld)).toHaveLength(3);
    await lender.importCases([aRow("LN-CAP")]);
    await assign(service, lender.code, "LN-CAP", id);
    const { data } = await theirs.ask("{ cases(first: 1) { edges { node { id } } } }");
    const caseId = data!["cases"].edges[0].node.id as string;
    const visitId = tooMany!.visitId;
    expect(await start({ visitId, caseId }, theirs)).toMatchObject({ visit: { completedAt: null } });
    expect(await complete(tooMany!, theirs)).toMatchObject({ visit: { disposition: "OTHER" } });

    const { database } = service.app;
    const inAWeek = new Date(Date.now() + 7 * 86_400_000 + 60_000);
    const forgotten = await transaction(database.em(), (tx) => forgetQueuedRequests(tx, inAWeek));
    expect(forgotten).toBeGreaterThanOrEqual(MAX_QUEUED_REQUESTS);
    expect(await complete(ended({ visitId: randomUUID() }), theirs)).toMatchObject(HELD);
  });
});

describe("what can never be right, whatever the visit will be", () => {
  const promise = { amount: AMOUNT, dueOn: dayFromNow(1) };
  test.each([
    ["a promise that was not made", { disposition: "PROMISE_TO_PAY" }],
    ["a promise with another end", { disposition: "OTHER", promise }],
    [
      "a promise of nothing",
      { disposition: "PROMISE_TO_PAY", promise: { ...promise, amount: { ...AMOUNT, minor: "0" } } },
    ],
    [
      "a promise for the day before yesterday",
      { disposition: "PROMISE_TO_PAY", promise: { ...promise, dueOn: dayFromNow(-2) } },
    ],
    ["a note that is too long", { note: "x".repeat(2_001) }],
  ])("such as %s is not kept for its start, and its key stays free", async (_, fields) => {
    const end = ended({ visitId: randomUUID(), ...fields });
    await expect(complete(end)).rejects.toThrow(/BAD_INPUT/);
    const { idempotencyKey, visitId } = end;
    expect((await rowsOf("select from cases.held_request where visit_id = $1", visitId)).rows).toEqual([]);
    expect(await complete({ ...ended({ visitId }), idempotencyKey })).toMatchObject(HELD);
  });
});

const AMOUNT_SHOWN = { minor: AMOUNT.minor };

interface Ended {
  readonly visitId: string;
  readonly disposition?: string;
  readonly promise?: object;
  readonly note?: string;
}

function ended(fields: Ended) {
  return { idempotencyKey: newId(), disposition: "OTHER", occurredAt: new Date().toISOString(), ...fields };
}

function asked({ visitId, minor = AMOUNT.minor }: { visitId: string; minor?: string }) {
  return { idempotencyKey: newId(), visitId, amount: { ...AMOUNT, minor } };
}

async function aCase(): Promise<{ loan: string; caseId: string }> {
  loansMade += 1;
  const loan = `LN-${loansMade}`;
  await lender.importCases([aRow(loan)]);
  await assign(service, lender.code, loan, fieldPartnerId);
  const { data } = await app.ask("{ cases(first: 1) { edges { node { id } } } }");
  return { loan, caseId: data!["cases"].edges[0].node.id };
}

/** Leaves behind what a process does that knows nothing of what is held: the visit, and what waits for it. */
async function startByOlderProcess(visit: { visitId: string; caseId: string }): Promise<void> {
  const held = "delete from cases.held_request where visit_id = $1 returning *";
  const { rows: waiting } = await rowsOf(held, visit.visitId);
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

function start(input: { visitId: string; caseId: string }, as = app) {
  return as.mutate("startVisit", { occurredAt: new Date().toISOString(), ...input }, VISIT);
}

function complete(input: ReturnType<typeof ended>, as = app) {
  return as.mutate("completeVisit", input, `${VISIT} } ... on VisitNotFound { isHeld`);
}

function request(input: ReturnType<typeof asked>, as = app) {
  return as.mutate("requestPaymentLink", input, `${LINK} } ... on VisitNotFound { isHeld`);
}

async function kindsOf(loan: string): Promise<string[]> {
  const em = service.app.database.em();
  const { id } = (await lenderByCode(em, lender.code))!;
  return (await eventsOf(em, id, loan)).map(({ body }) => (JSON.parse(body) as { kind: string }).kind);
}

function rowsOf(text: string, visitId: string) {
  return service.app.database.pool.query<Record<string, unknown>>(text, [visitId]);
}

function dayFromNow(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}
