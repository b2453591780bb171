import { databaseTime, transaction } from "@collections/database";
import { type Lender, type LenderChanges, updateLender } from "@collections/lenders";
import { createMailer } from "@collections/messaging";
import { claimDelivery, deliveriesOf, type LinkDelivery, type PaymentLink } from "@collections/payment-links";
import { afterEach, describe, expect, test, vi } from "vitest";
import { aConfirmation, ENVIRONMENT, eventsOfLoan, flowsDatabase, importRow, VAULT } from "../../tests/fixture.ts";
import { jobsWith, linkStage, type VisitedCase } from "../../tests/link-stage.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import { type LinkDeps, SEND_RETRIES, sendPaymentLinkQueue } from "./link-jobs.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";
import { MessageNotAcceptedError, sendPaymentLink } from "./send-payment-link.ts";
import { sweepPaymentLinks } from "./sweep-payment-links.ts";

const database = await flowsDatabase();
const { deps, lender, whatsapp, mails, visitedCase, request, link } = await linkStage(database);
afterEach(() => {
  whatsapp.behaviour = "ok";
  mails.behaviour = "ok";
});

interface Minted extends VisitedCase {
  readonly minted: PaymentLink;
  readonly byWhatsapp: LinkDelivery;
  readonly byEmail: LinkDelivery;
}

/** Creates a minted link with two messages that are not sent yet. */
async function aMintedLink(row = {}): Promise<Minted> {
  const visited = await visitedCase(row);
  const requested = await request(visited.visitId);
  await mintPaymentLink(deps, { lenderId: requested.lenderId, linkId: requested.id });
  const minted = await link(requested);
  const [byWhatsapp, byEmail] = await deliveriesOf(database.em(), [minted]);
  return { ...visited, minted, byWhatsapp: byWhatsapp!, byEmail: byEmail! };
}

function send({ lenderId, id }: LinkDelivery, attempt = 1, changes: Partial<LinkDeps> = {}): Promise<void> {
  return sendPaymentLink({ ...deps, ...changes }, { id: "job", data: { lenderId, deliveryId: id }, attempt });
}

async function now(delivery: LinkDelivery): Promise<LinkDelivery> {
  const all = await deliveriesOf(database.em(), [{ lenderId: delivery.lenderId, id: delivery.paymentLinkId }]);
  return all.find(({ id }) => id === delivery.id)!;
}

/** Simulates a worker that claims the message and dies while it sends the message. */
function dieWhileSending({ lenderId, id }: LinkDelivery) {
  const longAgo = new Date(Date.now() - 100_000);
  return transaction(database.em(), (tx) => claimDelivery(tx, { lenderId, id, now: longAgo, lostAfterMs: 1 }));
}

function changeRegistration(changes: LenderChanges): Promise<Lender> {
  return transaction(database.em(), (tx) => updateLender(tx, VAULT, lender.id, changes));
}

async function kindsOf({ theCase }: VisitedCase): Promise<string[]> {
  return (await eventsOfLoan(database, theCase)).map(({ kind }) => kind);
}

describe("a link", () => {
  test.each([
    ["hi-IN", "hi", "Acme Finance को ₹2,500.00 का भुगतान"],
    ["en-GB", "en_US", "Payment of ₹2,500.00 to Acme Finance"],
    ["mr", "en_US", "Payment of ₹2,500.00 to Acme Finance"],
    [null, "en_US", "Payment of ₹2,500.00 to Acme Finance"],
  ])("for a borrower with the language %s is sent with the template in %s", async (language, code, subject) => {
    await changeRegistration({ whatsappTemplate: "acme_payment:en_US,hi" });
    const stage = await aMintedLink({ language });
    await Promise.all([send(stage.byEmail), send(stage.byWhatsapp)]);
    await changeRegistration({ whatsappTemplate: "acme_payment" });
    const mail = mails.mails.find(({ text }) => text.includes(stage.minted.url!));
    expect(mail).toMatchObject({ to: ["ravi@example.com"], subject });
    const message = whatsapp.messages.find(({ parameters }) => parameters.includes(stage.minted.url!));
    expect(message).toMatchObject({
      template: "acme_payment",
      language: code,
      parameters: ["Ravi Kumar", "Acme Finance", "₹2,500.00", stage.minted.url],
    });
  });

  test("is sent by e-mail and by WhatsApp, and emits payment_link.delivered once", async () => {
    const stage = await aMintedLink();
    const changed: string[] = [];
    const stop = database.signals.on(PAYMENT_LINK_CHANNEL, (id) => changed.push(id));
    await send(stage.byEmail);
    expect(await link(stage.minted)).toMatchObject({ status: "sent" });
    await send(stage.byWhatsapp);
    stop();

    const mail = mails.mails.find(({ text }) => text.includes(stage.minted.url!));
    expect(mail).toMatchObject({ to: ["ravi@example.com"], subject: "Payment of ₹2,500.00 to Acme Finance" });
    const message = whatsapp.messages.find(({ parameters }) => parameters.includes(stage.minted.url!));
    expect(message).toMatchObject({
      to: "+919800000001",
      template: "acme_payment",
      language: "en",
      parameters: ["Ravi Kumar", "Acme Finance", "₹2,500.00", stage.minted.url],
    });
    expect(await now(stage.byEmail)).toMatchObject({ status: "sent", providerMessageId: mail!.messageId });
    expect(await now(stage.byWhatsapp)).toMatchObject({ status: "sent", providerMessageId: message!.id });
    expect((await eventsOfLoan(database, stage.theCase)).slice(3)).toMatchObject([
      { kind: "payment_link.created", sequence: 4 },
      { kind: "payment_link.delivered", data: { linkId: stage.minted.linkId, channels: ["email"] } },
    ]);
    expect(changed).toEqual([stage.minted.id, stage.minted.id]);
  });

  test("is sent once over each channel, even with several concurrent jobs", async () => {
    const stage = await aMintedLink();
    await Promise.all([stage.byEmail, stage.byEmail, stage.byWhatsapp, stage.byWhatsapp].map((one) => send(one)));
    await Promise.all([send(stage.byEmail), send(stage.byWhatsapp)]);
    expect(mails.mails.filter(({ text }) => text.includes(stage.minted.url!))).toHaveLength(1);
    expect(whatsapp.messages.filter(({ parameters }) => parameters.includes(stage.minted.url!))).toHaveLength(1);
    expect(await kindsOf(stage)).toHaveLength(5);
  });

  test("is sent once if the clock of the sending worker is behind, also when a sweep runs", async () => {
    const stage = await aMintedLink();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 180_000 });
    const [claimed, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const blocked = {
      sendTemplate: async (message: Parameters<LinkDeps["whatsapp"]["sendTemplate"]>[0]) => {
        claimed.resolve();
        await release.promise;
        return deps.whatsapp.sendTemplate(message);
      },
    };
    const sending = send(stage.byWhatsapp, 1, { whatsapp: blocked });
    await claimed.promise;
    vi.useRealTimers();
    await sweepPaymentLinks(deps, await databaseTime(database.em()));
    expect(await jobsWith(database, sendPaymentLinkQueue, stage.byWhatsapp.id)).toHaveLength(1);
    await send(stage.byWhatsapp);
    release.resolve();
    await sending;
    expect(await now(stage.byWhatsapp)).toMatchObject({ status: "sent" });
    expect(whatsapp.messages.filter(({ parameters }) => parameters.includes(stage.minted.url!))).toHaveLength(1);
  });

  test("that no channel delivers emits payment_link.undelivered once, and can still be shown", async () => {
    const stage = await aMintedLink();
    mails.behaviour = "reject";
    whatsapp.behaviour = "undeliverable";
    await send(stage.byEmail);
    await send(stage.byWhatsapp);
    expect(await now(stage.byEmail)).toMatchObject({ status: "failed", failureCode: "REFUSED" });
    expect(await now(stage.byWhatsapp)).toMatchObject({ status: "failed", failureCode: "UNDELIVERABLE" });
    expect((await eventsOfLoan(database, stage.theCase)).slice(4)).toMatchObject([
      { kind: "payment_link.undelivered", data: { linkId: stage.minted.linkId, channels: ["whatsapp", "email"] } },
    ]);
    expect(await link(stage.minted)).toMatchObject({ status: "minted", url: stage.minted.url });
  });

  test("is not sent if the borrower has refused consent in the meantime, or if it was paid or superseded", async () => {
    const [refused, paid, old] = [await aMintedLink(), await aMintedLink(), await aMintedLink()];
    const { sourceLoanNumber, borrowerName, borrowerPhone } = refused.theCase;
    const consent = { email: false };
    const row = { sourceLoanNumber, borrowerName, borrowerPhone, outstandingAmount: 5_000, consent };
    await importRow(database, lender, row);
    await pay(paid);
    const newer = await request(old.visitId, { amountMinor: 100n });
    await mintPaymentLink(deps, { lenderId: lender.id, linkId: newer.id });

    const mailsBefore = mails.mails.length;
    for (const { byEmail } of [refused, paid, old]) await send(byEmail);
    expect(mails.mails).toHaveLength(mailsBefore);
    const deliveries = await Promise.all([refused, paid, old].map(({ byEmail }) => now(byEmail)));
    expect(deliveries).toMatchObject([
      { status: "suppressed", failureCode: "CONSENT_REFUSED" },
      { status: "suppressed", failureCode: "LINK_NOT_LIVE" },
      { status: "suppressed", failureCode: "LINK_NOT_LIVE" },
    ]);
  });

  test("is not sent by e-mail if the operator has no mail server", async () => {
    const { byEmail } = await aMintedLink();
    const mailer = createMailer({ smtpUrl: undefined, from: "no-reply@example.com" });
    await send(byEmail, 1, { mailer });
    expect(await now(byEmail)).toMatchObject({ status: "suppressed", failureCode: "NOT_CONFIGURED" });
  });
});

describe("a temporary failure of a channel", () => {
  test("is retried by the same job", async () => {
    const { byWhatsapp, minted } = await aMintedLink();
    whatsapp.behaviour = "rateLimited";
    await expect(send(byWhatsapp)).rejects.toThrow(MessageNotAcceptedError);
    expect(await now(byWhatsapp)).toMatchObject({ status: "queued" });
    whatsapp.behaviour = "ok";
    await send(byWhatsapp, 2);
    expect(await now(byWhatsapp)).toMatchObject({ status: "sent", failureCode: null });
    expect(await link(minted)).toMatchObject({ status: "sent" });
  });

  test("is recorded as failed after the last attempt", async () => {
    const { byWhatsapp } = await aMintedLink();
    whatsapp.behaviour = "rateLimited";
    await send(byWhatsapp, SEND_RETRIES + 1);
    expect(await now(byWhatsapp)).toMatchObject({ status: "failed", failureCode: "RATE_LIMITED" });
  });
});

describe("after a worker died while sending,", () => {
  test("the e-mail is sent again with the same Message-ID", async () => {
    const { byEmail } = await aMintedLink();
    await dieWhileSending(byEmail);
    await send(byEmail);
    const { status, providerMessageId } = await now(byEmail);
    expect(status).toBe("sent");
    expect(providerMessageId).toContain(byEmail.id);
  });

  test("the WhatsApp message is not sent again, because it may have been sent", async () => {
    const { byWhatsapp } = await aMintedLink();
    await dieWhileSending(byWhatsapp);
    const messages = whatsapp.messages.length;
    await send(byWhatsapp);
    expect(await now(byWhatsapp)).toMatchObject({ status: "failed", failureCode: "OUTCOME_UNKNOWN" });
    expect(whatsapp.messages).toHaveLength(messages);
  });
});

async function pay({ theCase, minted: { linkId } }: Minted): Promise<void> {
  const confirmation = aConfirmation(lender, theCase, { linkId });
  expect(await confirmPayments(database.em(), [confirmation], ENVIRONMENT)).toMatchObject([{ kind: "booked" }]);
}
