import { transaction } from "@collections/database";
import { describe, expect, test } from "vitest";
import {
  claimDelivery,
  createDeliveries,
  deliveryById,
  type LinkDelivery,
  recordDelivery,
  releaseDelivery,
  stuckDeliveries,
} from "../index.ts";
import { aMintedLink, linksDatabase, minutesLater, NOON } from "../../tests/sample-links.ts";

const database = await linksDatabase();
const ALLOWED = { hasAddress: true, isConfigured: true };

async function queued(): Promise<{ whatsapp: LinkDelivery; email: LinkDelivery }> {
  const link = await aMintedLink(database);
  const facts = { whatsapp: ALLOWED, email: ALLOWED };
  const made = await transaction(database.em(), async (tx) => createDeliveries(tx, link, facts, NOON));
  const [whatsapp, email] = made.deliveries;
  return { whatsapp: whatsapp!, email: email! };
}

function claim({ lenderId, id }: LinkDelivery, now = NOON) {
  return transaction(database.em(), (tx) => claimDelivery(tx, { lenderId, id, now, lostAfterMs: 60_000 }));
}

function release({ lenderId, id }: LinkDelivery, now = NOON) {
  return transaction(database.em(), (tx) => releaseDelivery(tx, { lenderId, id, now }));
}

describe("claimDelivery and releaseDelivery", () => {
  test("exactly one of several concurrent jobs claims a message", async () => {
    const { whatsapp } = await queued();
    const claims = await Promise.all(Array.from({ length: 5 }, () => claim(whatsapp)));
    expect(claims.map(({ kind }) => kind).sort()).toEqual(["busy", "busy", "busy", "busy", "claimed"]);
    expect(claims.find(({ kind }) => kind === "claimed")).toMatchObject({
      link: { id: whatsapp.paymentLinkId },
      delivery: { id: whatsapp.id, status: "queued", startedAt: NOON },
    });
  });

  test("after its job died, an e-mail can be claimed again, but a WhatsApp message is lost", async () => {
    const { whatsapp, email } = await queued();
    await Promise.all([claim(whatsapp), claim(email)]);
    expect(await claim(email, minutesLater(1))).toMatchObject({ kind: "claimed" });
    expect(await claim(whatsapp, minutesLater(1))).toMatchObject({ kind: "lost", delivery: { id: whatsapp.id } });
  });

  test("a message that the channel did not accept can be released and claimed again", async () => {
    const { whatsapp } = await queued();
    await claim(whatsapp);
    await release(whatsapp);
    expect(await claim(whatsapp)).toMatchObject({ kind: "claimed" });
  });

  test("a settled message cannot be claimed or released", async () => {
    const { whatsapp } = await queued();
    await claim(whatsapp);
    const { lenderId, id } = whatsapp;
    const report = { lenderId, id, status: "sent" } as const;
    await transaction(database.em(), (tx) => recordDelivery(tx, report, NOON));
    await release(whatsapp);
    expect(await claim(whatsapp, minutesLater(5))).toEqual({ kind: "settled" });
    expect((await deliveryById(database.em(), whatsapp))?.delivery).toMatchObject({ status: "sent", startedAt: NOON });
  });

  test("stuckDeliveries returns a message only if its last change is old enough", async () => {
    const { whatsapp, email } = await queued();
    await claim(email, minutesLater(2));
    const stuck = await stuckDeliveries(database.em(), minutesLater(1));
    const ids = stuck.map(({ id }) => id);
    expect(ids).toContain(whatsapp.id);
    expect(ids).not.toContain(email.id);
  });
});
