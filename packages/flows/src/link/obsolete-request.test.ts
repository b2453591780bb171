import type { Case } from "@collections/cases";
import { newId, query, statement, transaction } from "@collections/database";
import { resumeLender, suspendLender } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import {
  claimDelivery,
  deliveriesOf,
  type LinkDelivery,
  type PaymentLink,
  type UnavailableReason,
} from "@collections/payment-links";
import { afterEach, describe, expect, test } from "vitest";
import {
  inTransaction,
  aCase,
  aConfirmation,
  aFieldPartner,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabase,
  importRow,
} from "../../tests/fixture.ts";
import { linkStage } from "../../tests/link-stage.ts";
import { assignCase, closeCase, holdCase, releaseCase } from "../case/change-case.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { queueLinkRequest, processQueuedRequests } from "../queued-requests.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import type { RequestPaymentLinkOutcome } from "./request-payment-link.ts";
import { sendPaymentLink } from "./send-payment-link.ts";
import { startVisit } from "../visit/start-visit.ts";
import { sweepPaymentLinks } from "./sweep-payment-links.ts";

const database = await flowsDatabase();
const { deps, lender, fieldPartner, twin, whatsapp, mails, visitedCase, request, link } = await linkStage(database);

const MINUTE_MS = 60_000;

afterEach(() => transaction(database.em(), (tx) => resumeLender(tx, lender.id, "test")));

/** Changes of a case between the request for a link and its mint call, or between the mint and the messages. */
const CHANGES: Record<string, (theCase: Case) => Promise<unknown>> = {
  "its case was put on hold": (theCase) => holdCase(database.em(), orderOf(theCase), ENVIRONMENT),
  "its case was closed": (theCase) => closeCase(database.em(), orderOf(theCase), ENVIRONMENT),
  "its case was withdrawn": ({ sourceLoanNumber }) =>
    importRow(database, lender, { sourceLoanNumber, action: "withdraw" }),
  "its case has a doNotContactUntil in the future": (theCase) =>
    importRow(database, lender, {
      ...rowOf(theCase),
      doNotContactUntil: new Date(Date.now() + 72 * 60 * MINUTE_MS).toISOString().slice(0, 10),
    }),
  "its case belongs to a lender that was suspended": ({ lenderId }) =>
    transaction(database.em(), (tx) => suspendLender(tx, lenderId, "test")),
  "its case was assigned to another field partner": async (theCase) => {
    const { id: fieldPartnerId } = await aFieldPartner(database);
    await assignCase(database.em(), { ...orderOf(theCase), fieldPartnerId }, ENVIRONMENT);
  },
  "its case was partly paid, so that the outstanding amount is below the link's amount": async (theCase) => {
    const paid = aConfirmation(lender, theCase, { amount: new AmountLiteral("3000") });
    expect(await confirmPayments(database.em(), [paid], ENVIRONMENT)).toMatchObject([{ kind: "booked" }]);
  },
};

function orderOf({ sourceLoanNumber: loan }: Case) {
  return { lender, loan, reason: "test" };
}

function rowOf({ sourceLoanNumber, borrowerName, borrowerPhone }: Case) {
  return { sourceLoanNumber, borrowerName, borrowerPhone, outstandingAmount: 5_000 };
}

function mint({ lenderId, id }: PaymentLink): Promise<void> {
  return mintPaymentLink(deps, { lenderId, linkId: id });
}

function send({ lenderId, id }: LinkDelivery): Promise<void> {
  return sendPaymentLink(deps, { id: "job", data: { lenderId, deliveryId: id }, attempt: 1 });
}

const timesOfLink = statement(
  "obsolete-request-test.times-of-link",
  "select created_at as created, asked_at as asked from payment_links.payment_link where id = $1",
);
const setTimesOfLink = statement(
  "obsolete-request-test.set-times-of-link",
  "update payment_links.payment_link set created_at = $2, asked_at = $3 where id = $1",
);

async function backdateLink({ id }: { id: string }, minutes: number): Promise<void> {
  const earlier = (time: Date) => new Date(time.getTime() - minutes * MINUTE_MS);
  const [times] = await query<{ created: Date; asked: Date | null }>(database.em(), timesOfLink, [id]);
  const { created, asked } = times!;
  await query(database.em(), setTimesOfLink, [id, earlier(created), asked && earlier(asked)]);
}

const backdateDeliveries = statement(
  "obsolete-request-test.backdate-deliveries",
  "update payment_links.link_delivery set created_at = now() - make_interval(mins => $2) where payment_link_id = $1",
);

const REASONS: Record<string, UnavailableReason> = {
  "its case was partly paid, so that the outstanding amount is below the link's amount": "amount_not_allowed",
};

describe("a requested link is not minted, and the lender is not called, if in the meantime", () => {
  test.each(Object.keys(CHANGES))("%s", async (what) => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    await CHANGES[what]!(theCase);
    const calls = twin.mints.length;
    await mint(requested);
    expect(twin.mints).toHaveLength(calls);
    const reason = REASONS[what] ?? "case_not_workable";
    expect(await link(requested)).toMatchObject({ status: "unavailable", unavailableReason: reason, url: null });
    expect(await deliveriesOf(database.em(), [requested])).toEqual([]);
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "payment_link.unavailable",
      data: { amount: 2_500, reason },
    });
  });
});

test("a link that was requested more than 10 minutes before its mint call is not minted", async () => {
  const [old, fresh] = [await request((await visitedCase()).visitId), await request((await visitedCase()).visitId)];
  await backdateLink(old, 11);
  await backdateLink(fresh, 9);
  const calls = twin.mints.length;
  await sweepPaymentLinks(deps, new Date());
  for (const requested of [old, fresh]) await mint(requested);
  expect(await link(old)).toMatchObject({ status: "unavailable", unavailableReason: "asked_too_long_ago" });
  expect(await link(fresh)).toMatchObject({ status: "minted" });
  expect(twin.mints).toHaveLength(calls + 1);
});

describe("the age of a request for a link:", () => {
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS);

  test.each([
    ["a link that was requested 11 minutes ago by the phone's clock is not minted", 11, "unavailable"],
    ["a link that was requested 9 minutes ago by the phone's clock is minted", 9, "minted"],
    ["a link that was requested an hour in the future by the phone's clock is minted", -60, "minted"],
  ])("%s", async (_, minutes, status) => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId, { occurredAt: minutesAgo(minutes) });
    await mint(requested);
    const unavailableReason = status === "minted" ? null : "asked_too_long_ago";
    expect(await link(requested)).toMatchObject({ status, unavailableReason });
  });

  test("a link that was requested 9 minutes ago by the phone's clock is not minted after 2 more minutes of waiting for its mint call", async () => {
    const requested = await request((await visitedCase()).visitId, { occurredAt: minutesAgo(9) });
    await backdateLink(requested, 2);
    await mint(requested);
    expect(await link(requested)).toMatchObject({ unavailableReason: "asked_too_long_ago" });
  });

  test("a link that was requested before 2000 or more than a day in the future is not minted", async () => {
    for (const occurredAt of [new Date("1999-12-31"), new Date("2999-01-01")]) {
      const { visitId } = await visitedCase();
      const requested = await request(visitId, { occurredAt });
      await mint(requested);
      expect(await link(requested)).toMatchObject({
        status: "unavailable",
        unavailableReason: "asked_too_long_ago",
      });
    }
  });

  test.each([
    [
      "a link whose request was queued for 11 minutes is not minted when the visit starts",
      { queued: 11 },
      "unavailable",
    ],
    ["a link whose request was queued for 9 minutes is minted when the visit starts", { queued: 9 }, "minted"],
    [
      "a link whose request was made 11 minutes ago and queued for 1 minute is not minted",
      { queued: 1, asked: 11 },
      "unavailable",
    ],
    [
      "a link whose request was queued for 11 minutes, and was made 1 minute ago by a phone's clock that is ahead, is not minted",
      { queued: 11, asked: 1 },
      "unavailable",
    ],
  ])("%s", async (_, { queued, asked }: { queued: number; asked?: number }, status) => {
    const { id: caseId } = await aCase(database, lender, { fieldPartner });
    const visit = { fieldPartnerId: fieldPartner.id, visitId: newId() };
    const untimed = { ...visit, amountMinor: 250_000n, currency: lender.currency };
    const linkRequest = asked === undefined ? untimed : { ...untimed, occurredAt: minutesAgo(asked) };
    await transaction(database.em(), (tx) => queueLinkRequest(tx, newId(), linkRequest, minutesAgo(queued)));
    await inTransaction(
      database,
      startVisit,
      { ...visit, caseId, occurredAt: minutesAgo(queued) },
      { environment: ENVIRONMENT },
    );
    const [processed] = await transaction(database.em(), (tx) =>
      processQueuedRequests(tx, visit, { environment: ENVIRONMENT }),
    );
    const { link: requested } = processed!.outcome as Extract<RequestPaymentLinkOutcome, { kind: "requested" }>;
    await mint(requested);
    expect(await link(requested)).toMatchObject({ status, cameOutOfOrder: true });
  });
});

describe("a minted link is not sent, and can still be shown, if in the meantime", () => {
  test.each(Object.keys(CHANGES))("%s", async (what) => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    await mint(requested);
    await CHANGES[what]!(theCase);
    const sentBefore = [whatsapp.messages.length, mails.mails.length];
    for (const delivery of await deliveriesOf(database.em(), [requested])) await send(delivery);
    expect([whatsapp.messages.length, mails.mails.length]).toEqual(sentBefore);
    const failureCode = (REASONS[what] ?? "case_not_workable").toUpperCase();
    expect(await deliveriesOf(database.em(), [requested])).toMatchObject([
      { channel: "whatsapp", status: "suppressed", failureCode },
      { channel: "email", status: "suppressed", failureCode },
    ]);
    expect(await link(requested)).toMatchObject({ status: "minted", url: expect.any(String) });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "payment_link.undelivered",
      data: { channels: ["whatsapp", "email"] },
    });
  });
});

test("a link is minted and sent if its case was put on hold and released in the meantime", async () => {
  const { theCase, visitId } = await visitedCase();
  const requested = await request(visitId);
  await holdCase(database.em(), orderOf(theCase), ENVIRONMENT);
  await releaseCase(database.em(), orderOf(theCase), ENVIRONMENT);
  await mint(requested);
  for (const delivery of await deliveriesOf(database.em(), [requested])) await send(delivery);
  expect(await link(requested)).toMatchObject({ status: "sent" });
});

test("a message that has waited for more than 30 minutes is not sent", async () => {
  const [old, fresh] = [await request((await visitedCase()).visitId), await request((await visitedCase()).visitId)];
  for (const requested of [old, fresh]) await mint(requested);
  await query(database.em(), backdateDeliveries, [old.id, 31]);
  await query(database.em(), backdateDeliveries, [fresh.id, 29]);
  for (const delivery of await deliveriesOf(database.em(), [old, fresh])) await send(delivery);
  expect(await deliveriesOf(database.em(), [old])).toMatchObject([
    { status: "suppressed", failureCode: "TOO_LATE" },
    { status: "suppressed", failureCode: "TOO_LATE" },
  ]);
  expect(await deliveriesOf(database.em(), [fresh])).toMatchObject([{ status: "sent" }, { status: "sent" }]);
});

test("an e-mail that is too old is recorded as OUTCOME_UNKNOWN and not as suppressed if a job that died may have sent it", async () => {
  const requested = await request((await visitedCase()).visitId);
  await mint(requested);
  const [, { lenderId, id } = { lenderId: "", id: "" }] = await deliveriesOf(database.em(), [requested]);
  const longAgo = { lenderId, id, now: new Date(Date.now() - 31 * MINUTE_MS), lostAfterMs: 1 };
  await transaction(database.em(), (tx) => claimDelivery(tx, longAgo));
  await query(database.em(), backdateDeliveries, [requested.id, 31]);
  for (const delivery of await deliveriesOf(database.em(), [requested])) await send(delivery);
  expect(await deliveriesOf(database.em(), [requested])).toMatchObject([
    { channel: "whatsapp", status: "suppressed", failureCode: "TOO_LATE" },
    { channel: "email", status: "failed", failureCode: "OUTCOME_UNKNOWN" },
  ]);
});
