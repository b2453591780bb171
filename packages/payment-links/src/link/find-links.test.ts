import { newId, transaction } from "@collections/database";
import { describe, expect, test } from "vitest";
import { selectDeliveries, selectLive, selectMessages, selectOfCase, selectOwn, selectOwnLive } from "./find-links.ts";
import {
  activeLinks,
  claimDelivery,
  createDeliveries,
  deliveriesOf,
  messagesSent,
  ownActiveLinks,
  ownLinks,
  type PaymentLink,
  recordDelivery,
} from "../index.ts";
import { aMintedLink, aRequestedLink, linksDatabase, NOON } from "../../tests/sample-links.ts";

const database = await linksDatabase();
const em = database.em();
const ME = newId();
const OPEN = { hasAddress: true, isConfigured: true };

/**
 * Creates links of seven lenders, ordered by id: live and requested links of the field partner ME, and
 * links of other field partners.
 */
async function linksOfLenders(): Promise<Record<"mine" | "requested" | "theirs", PaymentLink[]>> {
  const lenders = Array.from({ length: 7 }, () => newId());
  const links = { mine: [] as PaymentLink[], requested: [] as PaymentLink[], theirs: [] as PaymentLink[] };
  for (const lenderId of [...lenders, ...lenders]) {
    links.mine.push(await aMintedLink(database, { lenderId, fieldPartnerId: ME }));
    links.requested.push(await aRequestedLink(database, { lenderId, fieldPartnerId: ME }));
    links.theirs.push(await aMintedLink(database, { lenderId }));
  }
  return links;
}

describe("queries over several lenders", () => {
  test("ownLinks finds each link once by lender, id and field partner, also for repeated keys", async () => {
    const { mine, requested, theirs } = await linksOfLenders();
    const own = [...mine, ...requested];
    const named = own.map(({ lenderId, id }) => ({ lenderId, id, fieldPartnerId: ME }));
    const notMine = theirs.map(({ lenderId, id }) => ({ lenderId, id, fieldPartnerId: ME }));
    const [first, another] = [mine[0]!, mine[1]!];
    const wrongLender = { lenderId: another.lenderId, id: first.id, fieldPartnerId: ME };
    expect(byId(await ownLinks(em, [...named, ...named, ...notMine, wrongLender]))).toEqual(byId(own));
  });

  test("activeLinks finds the live link of each case, and ownActiveLinks those of one field partner", async () => {
    const { mine, requested, theirs } = await linksOfLenders();
    const keys = [...mine, ...requested, ...theirs].map(({ lenderId, caseId }) => ({ lenderId, caseId }));
    const wrongLender = { lenderId: mine[1]!.lenderId, caseId: mine[0]!.caseId };
    expect(byId(await activeLinks(em, [...keys, ...keys, wrongLender]))).toEqual(byId([...mine, ...theirs]));
    expect(byId(await ownActiveLinks(em, ME, [...keys, ...keys]))).toEqual(byId(mine));
  });

  test("deliveriesOf returns deliveries oldest first, and messagesSent adds the case and loan of the link", async () => {
    const { mine } = await linksOfLenders();
    const facts = { whatsapp: OPEN, email: OPEN };
    for (const link of mine) {
      await transaction(em, (tx) => Promise.resolve(createDeliveries(tx, link, facts, NOON)));
    }
    const found = await deliveriesOf(em, [...mine, ...mine]);
    expect(found.map(({ id }) => id)).toEqual(found.map(({ id }) => id).toSorted());
    expect(found.map(({ paymentLinkId, channel }) => `${paymentLinkId} ${channel}`).toSorted()).toEqual(
      mine.flatMap(({ id }) => [`${id} email`, `${id} whatsapp`]).toSorted(),
    );

    const { lenderId, caseId, sourceLoanNumber, id } = mine[0]!;
    const { id: deliveryId } = found.find((one) => one.paymentLinkId === id && one.channel === "whatsapp")!;
    await transaction(em, (tx) => claimDelivery(tx, { lenderId, id: deliveryId, now: NOON, lostAfterMs: 1 }));
    const report = { lenderId, id: deliveryId, status: "sent", providerMessageId: "wamid.1" } as const;
    await transaction(em, (tx) => recordDelivery(tx, report, NOON));
    expect(await messagesSent(em, lenderId, ["wamid.1", "wamid.1", "wamid.2"])).toMatchObject([
      { id: deliveryId, caseId, sourceLoanNumber, providerMessageId: "wamid.1" },
    ]);
    expect(await messagesSent(em, mine[1]!.lenderId, ["wamid.1"])).toEqual([]);
  });
});

// Plans made on an empty table are the worst case: there a sequential scan looks as cheap as an index scan.
test.each([
  { ...selectOwn, finds: /payment_link_pkey.*\n *Index Cond: \(.*id >= .*id <= / },
  { ...selectLive, finds: /Index Cond: \(.*case_id >= .*case_id <= / },
  { ...selectOwnLive, finds: /Index Cond: \(.*case_id >= .*case_id <= / },
  {
    ...selectOfCase,
    finds:
      /case_id_lender_id_id_idx.*\n *Index Cond: \(\(case_id = .*lender_id = (.|\n)*Index Cond: \(.*payment_link_id = /,
  },
  { ...selectDeliveries, finds: /Index Cond: \(.*payment_link_id = / },
  { ...selectMessages, finds: /payment_link_pkey.*\n *Index Cond: \(.*id >= .*id <= / },
])(
  "$name uses its index, even in a plan that was made on an empty table",
  { tags: "one-node-plan" },
  async ({ text, finds }) => {
    const parameters = new Set(text.match(/\$\d+/g)).size;
    const client = await database.pool.connect();
    // All statements run in one transaction, because a prepared statement belongs to a session, and a pooler may use
    // another session for the next transaction. The rollback removes the empty tables that the transaction creates.
    await client.query("begin");
    await client.query("create schema other");
    await client.query("create table other.payment_link (like payment_links.payment_link including all)");
    await client.query("create table other.link_delivery (like payment_links.link_delivery including all)");
    await client.query("set local plan_cache_mode = force_generic_plan");
    await client.query(`prepare lookup as ${text.replaceAll("payment_links.", "other.")}`);
    const values = Array.from({ length: parameters }, () => "null").join(", ");
    const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain execute lookup (${values})`);
    await client.query("deallocate lookup");
    await client.query("rollback");
    client.release();
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toMatch(finds);
  },
);

function byId(links: readonly PaymentLink[]): PaymentLink[] {
  return links.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
