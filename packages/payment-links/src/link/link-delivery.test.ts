import { sqlState, transaction } from "@collections/database";
import { describe, expect, test } from "vitest";
import {
  type Channel,
  type ChannelFacts,
  createDeliveries,
  DELIVERY_STATUSES,
  deliveriesOf,
  deliveryById,
  type DeliveryReport,
  linkById,
  markPaid,
  type PaymentLink,
  recordDelivery,
  stuckDeliveries,
} from "../index.ts";
import { aMintedLink, linksDatabase, minutesLater, NOON } from "../../tests/sample-links.ts";

const database = await linksDatabase();
const ALLOWED: ChannelFacts = { hasAddress: true, isConfigured: true };
const REFUSED: ChannelFacts = { ...ALLOWED, consent: false };
const BOTH = { whatsapp: ALLOWED, email: ALLOWED };

function deliver(link: PaymentLink, facts: Record<Channel, ChannelFacts> = BOTH, at = NOON) {
  return transaction(database.em(), async (tx) => createDeliveries(tx, link, facts, at));
}

async function report(
  delivery: { lenderId: string; id: string },
  status: DeliveryReport["status"],
  more: Partial<DeliveryReport> = {},
) {
  const { lenderId, id } = delivery;
  const reported = { lenderId, id, status, ...more };
  return transaction(database.em(), (tx) => recordDelivery(tx, reported, minutesLater(1)));
}

describe("createDeliveries", () => {
  test("queues one delivery for each channel of the link", async () => {
    const link = await aMintedLink(database);
    const { deliveries, undelivered } = await deliver(link);
    expect(deliveries).toMatchObject([
      { paymentLinkId: link.id, channel: "whatsapp", status: "queued" },
      { paymentLinkId: link.id, channel: "email", status: "queued" },
    ]);
    expect(undelivered).toBe(false);
    expect(await deliveriesOf(database.em(), [link])).toEqual(deliveries);
  });

  test("uses only the requested channels, and suppresses those that the borrower refused", async () => {
    const link = await aMintedLink(database, { channels: ["email"] });
    const { deliveries, undelivered } = await deliver(link, { whatsapp: ALLOWED, email: REFUSED });
    expect(deliveries).toMatchObject([{ channel: "email", status: "suppressed", failureCode: "CONSENT_REFUSED" }]);
    expect(undelivered).toBe(true);
  });

  test("does not report a link without channels as undelivered", async () => {
    const link = await aMintedLink(database, { channels: [] });
    expect(await deliver(link)).toEqual({ deliveries: [], undelivered: false });
  });
});

describe("recordDelivery", () => {
  test("makes the link `sent` at the first success, and returns that change once", async () => {
    const link = await aMintedLink(database);
    const [whatsapp, email] = (await deliver(link)).deliveries;
    const first = await report(email!, "sent", { providerMessageId: "<a@b>" });
    expect(first).toMatchObject({
      became: "sent",
      link: { status: "sent", sentAt: minutesLater(1) },
      delivery: { status: "sent", providerMessageId: "<a@b>", updatedAt: minutesLater(1) },
    });
    expect(await linkById(database.em(), link)).toEqual(first.link);
    expect(await report(whatsapp!, "read")).toMatchObject({ became: null, link: { status: "sent" } });
    expect(await report(email!, "delivered")).toMatchObject({ became: null, delivery: { status: "delivered" } });
  });

  test("keeps the status if a lower one is reported, but stores the message id of that report", async () => {
    const [whatsapp] = (await deliver(await aMintedLink(database))).deliveries;
    await report(whatsapp!, "read");
    await report(whatsapp!, "sent", { providerMessageId: "wamid.1" });
    await report(whatsapp!, "failed", { failureCode: "UNDELIVERABLE" });
    const { delivery } = (await deliveryById(database.em(), whatsapp!))!;
    expect(delivery).toMatchObject({ status: "read", providerMessageId: "wamid.1", failureCode: null });
  });

  test("makes the link undelivered only when the last channel has failed", async () => {
    const link = await aMintedLink(database);
    const [whatsapp, email] = (await deliver(link)).deliveries;
    expect(await report(whatsapp!, "failed", { failureCode: "UNDELIVERABLE" })).toMatchObject({ became: null });
    const last = await report(email!, "failed", { failureCode: "REFUSED", failureDetail: "A sentence." });
    expect(last).toMatchObject({
      became: "undelivered",
      link: { status: "minted" },
      delivery: { status: "failed", failureCode: "REFUSED", failureDetail: "A sentence." },
    });
    expect(await report(email!, "failed")).toMatchObject({ became: null, delivery: { failureCode: "REFUSED" } });
  });

  test("makes an undelivered link `sent` if a success is reported later, and clears the failure", async () => {
    const link = await aMintedLink(database);
    const { deliveries } = await deliver(link, { whatsapp: ALLOWED, email: REFUSED });
    expect(await report(deliveries[0]!, "failed", { failureCode: "TEMPORARY" })).toMatchObject({
      became: "undelivered",
    });
    expect(await report(deliveries[0]!, "delivered")).toMatchObject({
      became: "sent",
      delivery: { status: "delivered", failureCode: null },
    });
  });

  test("makes a sent link undelivered if its only channel reports a failure", async () => {
    const link = await aMintedLink(database, { channels: ["whatsapp"] });
    const [whatsapp] = (await deliver(link)).deliveries;
    await report(whatsapp!, "sent");
    expect(await report(whatsapp!, "failed")).toMatchObject({ became: "undelivered", link: { status: "sent" } });
  });

  test("stores a report about a paid link without changing the link", async () => {
    const link = await aMintedLink(database);
    const { deliveries } = await deliver(link);
    await transaction(database.em(), async (tx) => markPaid(tx, [{ ...link, paidAt: NOON }]));
    for (const delivery of deliveries) {
      const recorded = await report(delivery, "failed");
      expect(recorded).toMatchObject({ became: null, link: { status: "paid" }, delivery: { status: "failed" } });
    }
  });

  test.each(["sent", "failed"] as const)(
    "changes the link exactly once if both channels report `%s` at the same time",
    async (status) => {
      const news = status === "sent" ? "sent" : "undelivered";
      const races = Array.from({ length: 4 }, async () => {
        const { deliveries } = await deliver(await aMintedLink(database));
        const recorded = await Promise.all(deliveries.map((delivery) => report(delivery, status)));
        expect(recorded.filter(({ became }) => became === news)).toHaveLength(1);
        expect(recorded.filter(({ became }) => became === null)).toHaveLength(1);
      });
      await Promise.all(races);
    },
  );

  test("throws an assertion error for a delivery of another lender", async () => {
    const [one, other] = [await aMintedLink(database), await aMintedLink(database)];
    const [delivery] = (await deliver(one)).deliveries;
    await expect(report({ ...delivery!, lenderId: other.lenderId }, "sent")).rejects.toThrow("has no link delivery");
  });
});

test("stuckDeliveries finds a delivery that stays queued", async () => {
  const [stuck, sent] = (await deliver(await aMintedLink(database), BOTH, minutesLater(-60))).deliveries;
  await report(sent!, "sent");
  const found = await stuckDeliveries(database.em(), minutesLater(-30));
  expect(found).toEqual([stuck]);
});

test("the table accepts every status of a delivery, and rejects any other text", async () => {
  const [delivery] = (await deliver(await aMintedLink(database))).deliveries;
  const put = (status: string) =>
    database.pool.query("update payment_links.link_delivery set status = $2 where id = $1", [delivery!.id, status]);
  for (const status of DELIVERY_STATUSES) await put(status);
  expect(sqlState(await put("lost").catch((error: unknown) => error))).toBe("23514");
});
