import { newId, query, statement, transaction } from "@collections/database";
import { claimDelivery, deliveriesOf, type PaymentLink } from "@collections/payment-links";
import { afterEach, describe, expect, test } from "vitest";
import { inTransaction, eventsOfLoan, flowsDatabase } from "../../tests/fixture.ts";
import { linkStage } from "../../tests/link-stage.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import { recordMessageReports } from "./record-message-reports.ts";
import { type PaymentLinkRequest, requestPaymentLink } from "./request-payment-link.ts";
import { resendPaymentLink } from "./resend-payment-link.ts";
import { MessageNotAcceptedError, sendPaymentLink } from "./send-payment-link.ts";

const database = await flowsDatabase();
const { deps, lender, fieldPartner, whatsapp, mails, visitedCase, request, link } = await linkStage(database);

/** Requests a link and mints it. Its messages are not sent yet. */
async function tap(visitId: string, given: Partial<PaymentLinkRequest> = {}): Promise<PaymentLink> {
  const requested = await request(visitId, given);
  await mintPaymentLink(deps, { lenderId: lender.id, linkId: requested.id });
  return link(requested);
}

async function sendAll(links: readonly PaymentLink[]): Promise<void> {
  for (const { lenderId, id } of await deliveriesOf(database.em(), links)) {
    await sendPaymentLink(deps, { id: "job", data: { lenderId, deliveryId: id }, attempt: 1 });
  }
}

function messagesOf({ url }: PaymentLink): { byWhatsapp: number; byEmail: number } {
  return {
    byWhatsapp: whatsapp.messages.filter(({ parameters }) => parameters.includes(url!)).length,
    byEmail: mails.mails.filter(({ text }) => text.includes(url!)).length,
  };
}

function resend({ id }: PaymentLink) {
  const again = { fieldPartnerId: fieldPartner.id, linkId: id, channels: ["whatsapp"] as const };
  return transaction(database.em(), (tx) => resendPaymentLink(tx, again, {}));
}

describe("a repeated request for the same link", () => {
  test("sends the borrower one message over each channel", async () => {
    const { theCase, visitId } = await visitedCase();
    const taps: PaymentLink[] = [];
    for (let count = 0; count < 8; count += 1) {
      taps.push(await tap(visitId));
      await sendAll(taps.slice(-1));
    }
    expect(new Set(taps.map(({ linkId }) => linkId)).size).toBe(1);
    expect(messagesOf(taps[0]!)).toEqual({ byWhatsapp: 1, byEmail: 1 });
    expect(await link(taps.at(-1)!)).toMatchObject({ status: "sent" });
    expect(await deliveriesOf(database.em(), taps)).toMatchObject([
      { paymentLinkId: taps.at(-1)!.id, channel: "whatsapp", status: "sent" },
      { paymentLinkId: taps.at(-1)!.id, channel: "email", status: "sent" },
    ]);
    const kinds = (await eventsOfLoan(database, theCase)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "payment_link.delivered")).toHaveLength(1);
    expect(kinds).not.toContain("payment_link.undelivered");
  });

  test("that arrives before the messages are sent does not send them twice, and becomes `sent`", async () => {
    const { visitId } = await visitedCase();
    const taps = [await tap(visitId), await tap(visitId)];
    await sendAll(taps);
    expect(messagesOf(taps[0]!)).toEqual({ byWhatsapp: 1, byEmail: 1 });
    expect(await link(taps[1]!)).toMatchObject({ status: "sent" });
  });

  test("after a failed message sends a message again", async () => {
    const { visitId } = await visitedCase();
    whatsapp.behaviour = "undeliverable";
    await sendAll([await tap(visitId)]);
    whatsapp.behaviour = "ok";
    const again = await tap(visitId);
    await sendAll([again]);
    expect(messagesOf(again)).toEqual({ byWhatsapp: 1, byEmail: 1 });
  });

  test("allows three messages over a channel in all, including those of resendPaymentLink", async () => {
    const { visitId } = await visitedCase();
    const first = await tap(visitId);
    expect(await resend(first)).toMatchObject({ kind: "resent" });
    await sendAll([first]);
    const second = await tap(visitId);
    expect(await resend(second)).toMatchObject({ kind: "resent" });
    expect(await resend(second)).toMatchObject({ kind: "used_up", channel: "whatsapp" });
    await sendAll([second]);
    expect(messagesOf(second)).toEqual({ byWhatsapp: 3, byEmail: 1 });
  });
});

describe("a message that is being sent while its link is requested again", () => {
  afterEach(() => {
    whatsapp.behaviour = "ok";
  });

  /** Creates a link with one message, and requests the link a second time while the message is being sent. */
  async function tapWhileSending() {
    const { theCase, visitId } = await visitedCase();
    const only = { channels: ["whatsapp"] as const };
    const first = await tap(visitId, only);
    const [message] = await deliveriesOf(database.em(), [first]);
    let second: PaymentLink | undefined;
    const sendTemplate: typeof deps.whatsapp.sendTemplate = async (template) => {
      second ??= await tap(visitId, only);
      return deps.whatsapp.sendTemplate(template);
    };
    const send = (attempt: number) =>
      sendPaymentLink(
        { ...deps, whatsapp: { ...deps.whatsapp, sendTemplate } },
        { id: "job", data: { lenderId: lender.id, deliveryId: message!.id }, attempt },
      );
    const eventKinds = async () =>
      (await eventsOfLoan(database, theCase)).slice(3).map(({ kind }) => kind.split(".")[1]);
    return { first, send, eventKinds, message: message!, second: () => link(second!) };
  }

  test("is assigned to the newer link, which becomes `sent`", async () => {
    const { first, second, send, eventKinds } = await tapWhileSending();
    await send(1);
    expect(await link(first)).toMatchObject({ status: "superseded", linkId: (await second()).linkId });
    expect(await second()).toMatchObject({ status: "sent" });
    expect(messagesOf(first)).toMatchObject({ byWhatsapp: 1 });
    expect(await eventKinds()).toEqual(["created", "created", "delivered"]);
  });

  test("is sent by the next attempt after a temporary failure of the channel", async () => {
    const { first, second, send, eventKinds } = await tapWhileSending();
    whatsapp.behaviour = "rateLimited";
    await expect(send(1)).rejects.toThrow(MessageNotAcceptedError);
    whatsapp.behaviour = "ok";
    await send(2);
    expect(await second()).toMatchObject({ status: "sent" });
    expect(messagesOf(first)).toMatchObject({ byWhatsapp: 1 });
    expect(await eventKinds()).toEqual(["created", "created", "delivered"]);
  });

  test("that fails makes the newer link undelivered, and a third request sends another message", async () => {
    const { first, second, send, eventKinds } = await tapWhileSending();
    whatsapp.behaviour = "undeliverable";
    await send(1);
    expect(await second()).toMatchObject({ status: "minted" });
    expect(await deliveriesOf(database.em(), [await second()])).toMatchObject([{ status: "failed" }]);
    expect(await eventKinds()).toEqual(["created", "created", "undelivered"]);
    whatsapp.behaviour = "ok";
    await sendAll([await tap(first.visitId)]);
    expect(messagesOf(first)).toMatchObject({ byWhatsapp: 1 });
  });

  test("that the channel accepts but cannot deliver makes the newer link undelivered", async () => {
    const { second, send, eventKinds, message } = await tapWhileSending();
    await send(1);
    const sent = (await deliveriesOf(database.em(), [await second()]))[0]!;
    expect(sent.id).toBe(message.id);
    await recordMessageReports(deps, lender.id, [
      { providerMessageId: sent.providerMessageId!, status: "failed", failureCode: "UNDELIVERABLE" },
    ]);
    expect(await eventKinds()).toEqual(["created", "created", "delivered", "undelivered"]);
  });

  test("counts once towards the three allowed messages", async () => {
    const { second, send } = await tapWhileSending();
    await send(1);
    expect(await resend(await second())).toMatchObject({ kind: "resent" });
    expect(await resend(await second())).toMatchObject({ kind: "resent" });
    expect(await resend(await second())).toMatchObject({ kind: "used_up", channel: "whatsapp" });
  });

  test("is not sent again if its process dies, and makes the newer link undelivered", async () => {
    const { visitId, theCase } = await visitedCase();
    const first = await tap(visitId, { channels: ["whatsapp"] });
    const [message] = await deliveriesOf(database.em(), [first]);
    const longAgo = { lenderId: lender.id, id: message!.id, now: new Date(Date.now() - 100_000), lostAfterMs: 1 };
    await transaction(database.em(), (tx) => claimDelivery(tx, longAgo));
    const second = await tap(visitId, { channels: ["whatsapp"] });
    await sendAll([second]);
    await sendAll([second]);
    expect(messagesOf(first)).toMatchObject({ byWhatsapp: 0 });
    expect(await deliveriesOf(database.em(), [second])).toMatchObject([{ failureCode: "OUTCOME_UNKNOWN" }]);
    const kinds = (await eventsOfLoan(database, theCase)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "payment_link.undelivered")).toHaveLength(1);
  });
});

describe("a case", () => {
  const aged = statement(
    "repeated-request-test.age-links",
    "update payment_links.payment_link set created_at = now() - interval '25 hours' where case_id = $1",
  );
  const failed = statement(
    "repeated-request-test.fail-link",
    "update payment_links.payment_link set status = 'unavailable', unavailable_reason = 'timeout' where id = $1",
  );

  test("has at most ten links in 24 hours, not counting unavailable links", async () => {
    const { theCase, visitId } = await visitedCase();
    const ask = (amountMinor: bigint) =>
      inTransaction(
        database,
        requestPaymentLink,
        { fieldPartnerId: fieldPartner.id, visitId, amountMinor, currency: lender.currency },
        {},
      );
    for (let count = 1n; count <= 9n; count += 1n) expect(await ask(count)).toMatchObject({ kind: "requested" });
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => ask(250_000n)));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["requested", ...Array(5).fill("too_many_links")]);
    expect(await inTransaction(database, requestPaymentLink, requestOn(newId()), {})).toEqual({
      kind: "visit_not_found",
    });

    const { link: tenth } = outcomes.find(({ kind }) => kind === "requested") as { link: PaymentLink };
    await query(database.em(), failed, [tenth.id]);
    expect(await ask(250_000n)).toMatchObject({ kind: "requested" });
    expect(await ask(250_000n)).toMatchObject({ kind: "too_many_links" });
    await query(database.em(), aged, [theCase.id]);
    expect(await ask(250_000n)).toMatchObject({ kind: "requested" });
  });

  function requestOn(visitId: string) {
    return { fieldPartnerId: fieldPartner.id, visitId, amountMinor: 100n, currency: lender.currency };
  }
});
