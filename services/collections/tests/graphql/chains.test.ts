import { DISPOSITIONS } from "@collections/cases";
import { newId } from "@collections/database";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { seededRandom, seedOfRun } from "../fixtures/seeded-random.ts";

// `SEED=7 vitest run graphql/chains` repeats a run: the same visits in the same order.
const VISITS = 500;
const SEED = seedOfRun();
/** The number of phones. It is high enough that each phone stays below its limit of queued requests. */
const PHONES = 8;
const AT_ONCE = 12;
const IN_AN_OPERATION = 6;
const DAY_MS = 24 * 3_600_000;

const draw = seededRandom(SEED);
/**
 * All visits take place on the day before the test. So they are earlier than any hold, because a hold begins at the
 * service's current time.
 */
const MORNING_MS = Date.now() - DAY_MS;

/**
 * One request of a phone. `minutes` is its time by the phone's clock. `visit` is the number of the visit among those of
 * the case.
 */
type Step =
  | { readonly mutation: "startVisit"; readonly visit: number; readonly minutes: number }
  | {
      readonly mutation: "completeVisit";
      readonly visit: number;
      readonly minutes: number;
      readonly disposition: string;
      readonly promise?: { readonly minor: string; readonly day: number };
    }
  | { readonly mutation: "requestPaymentLink"; readonly visit: number; readonly minor: string };

/** The steps on one case, in the order in which they happened. */
type Plan = readonly Step[];

interface Sent {
  readonly step: Step;
  /** The number of the phone that sends the request. */
  readonly phone: number;
  readonly input: { readonly idempotencyKey: string; readonly visitId: string };
}

/**
 * One of two lenders whose field partners send the same requests from their phones. The test compares the effects: for
 * one lender, the requests are sent in order, for the other in random order.
 */
interface Side {
  readonly lenderId: string;
  readonly apps: readonly AppClient[];
  /** The requests of each case, by the index of its plan. */
  readonly sent: readonly (readonly Sent[])[];
}

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

test(`the requests of ${VISITS} visits have the same effects when sent once in order and when repeated in random order (SEED=${SEED})`, async () => {
  const plans = drawPlans();
  const [inOrder, inAnyOrder] = [await aSide(plans), await aSide(plans)];
  const typesInOrder = new Map<string, string>();
  await each(inOrder.sent, async (plan) => {
    for (let from = 0; from < plan.length; from += IN_AN_OPERATION) {
      await post(inOrder, plan.slice(from, from + IN_AN_OPERATION), typesInOrder);
    }
  });
  expect([...new Set(typesInOrder.values())].toSorted()).toEqual(PAYLOADS);

  const doubled = inAnyOrder.sent
    .flat()
    .flatMap((sent) => Array.from({ length: 1 + Math.floor(draw() * 3) }, () => sent));
  const types = new Map<string, string>();
  await each(batches(shuffled(doubled)), (batch) => post(inAnyOrder, batch, types));
  const expected = await stateOf(inOrder);
  expect(await stateOf(inAnyOrder)).toEqual(expected);

  // All queued requests have now been processed. A repeat returns the result and changes nothing.
  const queued = inAnyOrder.sent.flat().filter(({ input }) => types.get(input.idempotencyKey) === "VisitNotFound");
  expect(queued.length).toBeGreaterThan(VISITS / 10);
  await each(batches(queued), (batch) => post(inAnyOrder, batch, types));
  expect([...new Set(types.values())].toSorted()).toEqual(PAYLOADS);
  expect(await stateOf(inAnyOrder)).toEqual(expected);
  expect(await cameOutOfOrder(inAnyOrder)).toBeGreaterThan(VISITS / 10);
  expect(await cameOutOfOrder(inOrder)).toBe(0);
});

const PAYLOADS = ["CompleteVisitPayload", "RequestPaymentLinkPayload", "StartVisitPayload"];

/**
 * Draws one to four visits for each case. If a visit ends with a dispute, the case rejects later link requests, so its
 * visits request no links.
 */
function drawPlans(): Plan[] {
  const plans: Plan[] = [];
  for (let visitsDrawn = 0; visitsDrawn < VISITS;) {
    const visits = Math.min(1 + Math.floor(draw() * 4), VISITS - visitsDrawn);
    visitsDrawn += visits;
    const dispositions = Array.from({ length: visits }, () => one(DISPOSITIONS));
    const isDisputed = dispositions.includes("DISPUTE");
    const steps = dispositions.flatMap((disposition, visit) => {
      const linkRequests = isDisputed ? 0 : Math.floor(draw() * 3);
      return stepsOfVisit(visit, disposition, linkRequests);
    });
    plans.push(steps);
  }
  return plans;
}

/** Returns the steps of one visit. Some visits of a case overlap, and some happen at the same moment. */
function stepsOfVisit(visit: number, disposition: string, linkRequests: number): Step[] {
  const minutes = Math.floor(draw() * 6) * 10;
  const until = minutes + Math.floor(draw() * 3) * 10;
  const promise = { minor: String(1_000 + visit), day: 1 + Math.floor(draw() * 20) };
  const isPromised = disposition === "PROMISE_TO_PAY";
  return [
    { mutation: "startVisit", visit, minutes },
    { mutation: "completeVisit", visit, minutes: until, disposition, ...(isPromised && { promise }) },
    ...Array.from({ length: linkRequests }, (): Step => ({
      mutation: "requestPaymentLink",
      visit,
      minor: String(10_000 * (1 + Math.floor(draw() * 3))),
    })),
  ];
}

async function aSide(plans: readonly Plan[]): Promise<Side> {
  const lender = await aLender(service);
  const fieldPartners = await Promise.all(Array.from({ length: PHONES }, () => aFieldPartner(service)));
  const loans = plans.map((_, index) => `LN-${index}`);
  await lender.importCases(loans.map((loan) => aRow(loan)));
  await each([...loans.entries()], ([index, loan]) =>
    assign(service, lender.code, loan, fieldPartners[index % PHONES]!.id),
  );
  const { id: lenderId } = (await lenderByCode(service.app.database.em(), lender.code))!;
  const { rows } = await service.app.database.pool.query<{ id: string; loan: string }>(
    "select id, source_loan_number as loan from cases.collection_case where lender_id = $1",
    [lenderId],
  );
  const caseIds = new Map(rows.map(({ id, loan }) => [loan, Buffer.from(`Case:${id}`).toString("base64url")]));
  const sent = plans.map((plan, index) => sentOf(plan, caseIds.get(`LN-${index}`)!, index % PHONES));
  const apps = fieldPartners.map(({ accessToken }) => new AppClient(service.url, accessToken));
  return { lenderId, apps, sent };
}

/**
 * Returns the requests for the steps on one case. Later visits get higher ids, because the id decides the order of two
 * visits that happen at the same moment. So the order is the same for both lenders.
 */
function sentOf(plan: Plan, caseId: string, phone: number): Sent[] {
  const visitIds: string[] = [];
  return plan.map((step) => {
    const visitId = (visitIds[step.visit] ??= newId());
    const ids = { idempotencyKey: newId(), visitId };
    switch (step.mutation) {
      case "startVisit":
        return { step, phone, input: { ...ids, caseId, occurredAt: at(step.minutes) } };
      case "completeVisit": {
        const { disposition, promise } = step;
        const sentPromise = promise && { amount: rupees(promise.minor), dueOn: at(promise.day * 24 * 60).slice(0, 10) };
        return { step, phone, input: { ...ids, disposition, occurredAt: at(step.minutes), promise: sentPromise } };
      }
      case "requestPaymentLink":
        return { step, phone, input: { ...ids, amount: rupees(step.minor) } };
    }
  });
}

/** Sends requests of one phone in one operation, and records the type of each result by its idempotency key. */
async function post({ apps }: Side, batch: readonly Sent[], types: Map<string, string>): Promise<void> {
  const titled = ({ step: { mutation } }: Sent) => `${mutation[0]!.toUpperCase()}${mutation.slice(1)}`;
  const fields = batch.map((sent, index) => `m${index}: ${sent.step.mutation}(input: $i${index}) { __typename }`);
  const variables = batch.map((sent, index) => `$i${index}: ${titled(sent)}Input!`);
  const query = `mutation (${variables.join(", ")}) { ${fields.join(" ")} }`;
  const inputs = Object.fromEntries(batch.map(({ input }, index) => [`i${index}`, input]));
  const { data, errors } = await apps[batch[0]!.phone]!.ask(query, inputs);
  expect(errors).toBeUndefined();
  for (const [index, { input }] of batch.entries()) {
    types.set(input.idempotencyKey, (data!["m" + index] as { __typename: string }).__typename);
  }
}

/**
 * Returns the stored effects of all requests at one of the two lenders, by loan. Ids and times of arrival are left out,
 * because they differ between the lenders.
 */
async function stateOf({ lenderId, sent }: Side): Promise<unknown> {
  const { rows } = await service.app.database.pool.query<Record<string, unknown>>(SELECT_STATE, [lenderId]);
  const places = new Map(sent.flat().map(({ step, input }) => [input.visitId, step.visit]));
  const named = (_name: string, value: unknown) =>
    typeof value === "string" && places.has(value) ? `visit ${places.get(value)}` : value;
  return JSON.parse(JSON.stringify(rows, named));
}

const SELECT_STATE = `select c.source_loan_number, c.status, c.status_before_hold, c.status_reason, c.field_work,
    c.outstanding_minor, c.total_collected_minor, c.sequence, c.last_visit_id, c.last_disposition,
    (select jsonb_agg(jsonb_build_array(v.id, v.started_at, v.completed_at, v.disposition) order by v.id)
      from cases.visit v where v.lender_id = c.lender_id and v.case_id = c.id) as visits,
    (select jsonb_agg(jsonb_build_array(p.visit_id, p.amount_minor, p.due_on, p.state) order by p.visit_id)
      from cases.promise p where p.lender_id = c.lender_id and p.case_id = c.id) as promises,
    (select jsonb_agg(jsonb_build_array(l.visit_id, l.amount_minor, l.currency, l.status, l.channels)
        order by l.visit_id, l.amount_minor)
      from payment_links.payment_link l where l.lender_id = c.lender_id and l.case_id = c.id) as links,
    (select jsonb_agg(e.kind order by e.kind)
      from webhooks.event e where e.lender_id = c.lender_id and e.source_loan_number = c.source_loan_number) as kinds,
    (select jsonb_agg(e.sequence order by e.sequence)
      from webhooks.event e where e.lender_id = c.lender_id and e.source_loan_number = c.source_loan_number) as sequences,
    (select count(*) from cases.held_request h join cases.visit v on v.id = h.visit_id
      where v.lender_id = c.lender_id and v.case_id = c.id) as held
  from cases.collection_case c where c.lender_id = $1 order by c.source_loan_number`;

async function cameOutOfOrder({ lenderId }: Side): Promise<number> {
  const { rows } = await service.app.database.pool.query<{ count: string }>(
    `select count(*) from (
       select from cases.visit where lender_id = $1 and came_out_of_order
       union all select from payment_links.payment_link where lender_id = $1 and came_out_of_order) as flagged`,
    [lenderId],
  );
  return Number(rows[0]!.count);
}

/** Runs `work` for each item, `AT_ONCE` at a time. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  });
  await Promise.all(workers);
}

/** Divides the requests into batches that each come from one phone. The phones take turns. */
function batches(sent: readonly Sent[]): Sent[][] {
  const ofPhones = Map.groupBy(sent, ({ phone }) => phone);
  return [...ofPhones.values()]
    .flatMap((ofPhone) =>
      Array.from({ length: Math.ceil(ofPhone.length / IN_AN_OPERATION) }, (_, index) => ({
        index,
        batch: ofPhone.slice(index * IN_AN_OPERATION, (index + 1) * IN_AN_OPERATION),
      })),
    )
    .toSorted((a, b) => a.index - b.index)
    .map(({ batch }) => batch);
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, rank: draw() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

function one<Item>(items: readonly Item[]): Item {
  return items[Math.floor(draw() * items.length)]!;
}

function at(minutes: number): string {
  return new Date(MORNING_MS + minutes * 60_000).toISOString();
}

function rupees(minor: string): object {
  return { minor, currency: "INR" };
}
