import { newId, query, statement, transaction } from "@collections/database";
import { deliveriesOf, type PaymentLink } from "@collections/payment-links";
import { describe, expect, test } from "vitest";
import { eventsOfLoan, flowsDatabase } from "../tests/fixture.ts";
import { linkStage } from "../tests/link-stage.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import { requestPaymentLink } from "./request-payment-link.ts";
import { resendPaymentLinkIn } from "./resend-payment-link.ts";
import { sendPaymentLink } from "./send-payment-link.ts";

const database = await flowsDatabase();
const { deps, lender, fieldPartner, whatsapp, mails, visitedCase, request, link } = await linkStage(database);

/** Asks for a link and has it minted; its messages wait. */
async function tap(visitId: string): Promise<PaymentLink> {
  const requested = await request(visitId);
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
  return transaction(database.em(), (tx) => resendPaymentLinkIn(tx, again, {}));
}

describe("who asks again for the same link", () => {
  test("has the borrower told of it once over each channel", async () => {
    const { theCase, visitId } = await visitedCase();
    const taps: PaymentLink[] = [];
    for (let count = 0; count < 8; count += 1) {
      taps.push(await tap(visitId));
      await sendAll(taps.slice(-1));
    }
    expect(new Set(taps.map(({ linkId }) => linkId)).size).toBe(1);
    expect(messagesOf(taps[0]!)).toEqual({ byWhatsapp: 1, byEmail: 1 });
    expect(await deliveriesOf(database.em(), taps.slice(-1))).toMatchObject([
      { channel: "whatsapp", status: "suppressed", failureCode: "ALREADY_SENT" },
      { channel: "email", status: "suppressed", failureCode: "ALREADY_SENT" },
    ]);
    const kinds = (await eventsOfLoan(database, theCase)).map(({ kind }) => kind);
    expect(kinds).not.toContain("payment_link.undelivered");
  });

  test("before it is sent has it sent once, by the newest", async () => {
    const { visitId } = await visitedCase();
    const taps = [await tap(visitId), await tap(visitId)];
    await sendAll(taps);
    expect(messagesOf(taps[0]!)).toEqual({ byWhatsapp: 1, byEmail: 1 });
    expect(await link(taps[1]!)).toMatchObject({ status: "sent" });
  });

  test("after a message that failed has it sent again", async () => {
    const { visitId } = await visitedCase();
    whatsapp.behaviour = "undeliverable";
    await sendAll([await tap(visitId)]);
    whatsapp.behaviour = "ok";
    const again = await tap(visitId);
    await sendAll([again]);
    expect(messagesOf(again)).toEqual({ byWhatsapp: 1, byEmail: 1 });
  });

  test("has three messages in all over a channel, with those that were asked for", async () => {
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

describe("a case", () => {
  const aged = statement(
    "repeated-wish-test.age-links",
    "update payment_links.payment_link set created_at = created_at - interval '25 hours' where case_id = $1",
  );
  const failed = statement(
    "repeated-wish-test.fail-link",
    "update payment_links.payment_link set status = 'unavailable', unavailable_reason = 'timeout' where id = $1",
  );

  test("has ten links in 24 hours at most, those not counted that there were not", async () => {
    const { theCase, visitId } = await visitedCase();
    const ask = (amountMinor: bigint) =>
      requestPaymentLink(
        database.em(),
        { fieldPartnerId: fieldPartner.id, visitId, amountMinor, currency: lender.currency },
        {},
      );
    for (let count = 1n; count <= 9n; count += 1n) expect(await ask(count)).toMatchObject({ kind: "requested" });
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => ask(250_000n)));
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(["requested", ...Array(5).fill("too_many_links")]);
    expect(await requestPaymentLink(database.em(), wishOf(newId()), {})).toEqual({ kind: "visit_not_found" });

    const { link: tenth } = outcomes.find(({ kind }) => kind === "requested") as { link: PaymentLink };
    await query(database.em(), failed, [tenth.id]);
    expect(await ask(250_000n)).toMatchObject({ kind: "requested" });
    expect(await ask(250_000n)).toMatchObject({ kind: "too_many_links" });
    await query(database.em(), aged, [theCase.id]);
    expect(await ask(250_000n)).toMatchObject({ kind: "requested" });
  });

  function wishOf(visitId: string) {
    return { fieldPartnerId: fieldPartner.id, visitId, amountMinor: 100n, currency: lender.currency };
  }
});
