import { genericPlan } from "@collections/testing";
import { newId, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { selectChanged } from "./changed-links.ts";
import { changedLinks, createDeliveries, type PaymentLink, recordDelivery, recordUnavailable } from "../index.ts";
import { aMintedLink, aRequestedLink, linksDatabase, minutesLater, NOON } from "../../tests/sample-links.ts";

const database = await linksDatabase();

test("changedLinks returns the links that were requested or changed since the given time", async () => {
  const fieldPartnerId = newId();
  const [first, second] = [await aRequested(fieldPartnerId), await aRequested(fieldPartnerId)];
  await aRequested(newId());
  expect(await changed(fieldPartnerId, minutesLater(0))).toEqual([first.id, second.id]);
  expect(await changed(fieldPartnerId, minutesLater(1))).toEqual([]);
  await transaction(database.em(), (tx) =>
    recordUnavailable(tx, second, { unavailable: "timeout", detail: "No answer." }, minutesLater(2)),
  );
  expect(await changed(fieldPartnerId, minutesLater(1))).toEqual([second.id]);
});

test("changedLinks returns a link when one of its messages has changed since the given time", async () => {
  const fieldPartnerId = newId();
  const link = await aMintedLink(database, { fieldPartnerId });
  const reachable = { hasAddress: true, isConfigured: true };
  const facts = { whatsapp: reachable, email: reachable };
  const { deliveries } = await transaction(database.em(), async (tx) => createDeliveries(tx, link, facts, NOON));
  const { lenderId, id } = deliveries.find(({ status }) => status === "queued")!;
  const sent = { lenderId, id, status: "sent" } as const;
  await transaction(database.em(), (tx) => recordDelivery(tx, sent, minutesLater(1)));
  const read = { ...sent, status: "read" } as const;
  await transaction(database.em(), (tx) => recordDelivery(tx, read, minutesLater(60)));
  expect(await changed(fieldPartnerId, minutesLater(59))).toEqual([link.id]);
  expect(await changed(fieldPartnerId, minutesLater(61))).toEqual([]);
});

test("changedLinks returns at most `limit` links with ids greater than the given id", async () => {
  const fieldPartnerId = newId();
  const links = [await aRequested(fieldPartnerId), await aRequested(fieldPartnerId), await aRequested(fieldPartnerId)];
  const page = (limit: number, after?: string) =>
    changedLinks(database.em(), fieldPartnerId, { since: NOON, limit, after });
  expect((await page(2)).map(({ id }) => id)).toEqual(links.slice(0, 2).map(({ id }) => id));
  expect((await page(2, links[1]!.id)).map(({ id }) => id)).toEqual([links[2]!.id]);
});

test(
  "changedLinks uses the index on the field partner, even in a plan that was made while the table was empty",
  { tags: "one-node-plan" },
  async () => {
    const plan = await genericPlan(database.pool, selectChanged.text, `'${newId()}', now(), null, 51`);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toContain("payment_link_of_field_partner");
    expect(plan).toContain("link_delivery_of_link");
  },
);

function aRequested(fieldPartnerId: string): Promise<PaymentLink> {
  return aRequestedLink(database, { fieldPartnerId });
}

async function changed(fieldPartnerId: string, since: Date): Promise<string[]> {
  return (await changedLinks(database.em(), fieldPartnerId, { since, limit: 10 })).map(({ id }) => id);
}
