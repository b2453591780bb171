import { newId, transaction } from "@collections/database";
import { describe, expect, test } from "vitest";
import {
  activeLinks,
  linkById,
  linkOfFieldPartner,
  linksOfFieldPartner,
  linksByLenderLinkId,
  liveLink,
  markPaid,
  stuckRequested,
} from "../index.ts";
import { aMintedLink, aRequestedLink, linksDatabase, minutesLater, NOON, mintedBy } from "../../tests/sample-links.ts";

const sent: { name: string | undefined; text: string }[] = [];
const database = await linksDatabase((statement) => sent.push(statement));

describe("linksByLenderLinkId", () => {
  test("finds a link by its linkId, but only among the links of the given lender", async () => {
    const link = await aMintedLink(database, {}, "plink_1");
    await aMintedLink(database, {}, "plink_1");
    expect(await linksByLenderLinkId(database.em(), [{ lenderId: newId(), linkId: "plink_1" }])).toEqual([]);
    const found = await linksByLenderLinkId(database.em(), [
      { lenderId: link.lenderId, linkId: "plink_1" },
      { lenderId: link.lenderId, linkId: "PLINK_1" },
    ]);
    expect(found).toEqual([
      {
        lenderId: link.lenderId,
        linkId: "plink_1",
        id: link.id,
        caseId: link.caseId,
        sourceLoanNumber: link.sourceLoanNumber,
        visitId: link.visitId,
        fieldPartnerId: link.fieldPartnerId,
        amountMinor: 250_000n,
        currency: "INR",
        status: "minted",
        reversedAt: null,
      },
    ]);
  });

  test("finds all links with a linkId that the lender used twice", async () => {
    const first = await aMintedLink(database, {}, "plink_2");
    const second = await aMintedLink(database, { lenderId: first.lenderId }, "plink_2");
    const key = { lenderId: first.lenderId, linkId: "plink_2" };
    const found = await linksByLenderLinkId(database.em(), [key, key]);
    expect(found.map(({ id }) => id).toSorted()).toEqual([first.id, second.id].toSorted());
  });

  test.each([
    ["one lender", 1, "payment-links.links-by-lender-link-id"],
    ["several lenders", 2, "payment-links.links-by-lender-link-id-of-many"],
  ])(
    "makes one index probe per key for %s, even in a plan that was made while the table was empty",
    { tags: "one-node-plan" },
    async (...given) => {
      const [, lenders, sentAs] = given;
      const keys = Array.from({ length: lenders }, () => ({ lenderId: newId(), linkId: "plink_0" }));
      await linksByLenderLinkId(database.em(), keys);
      const { text } = sent.find(({ name }) => name === sentAs)!;
      const client = await database.pool.connect();
      // All statements run in one transaction, because a prepared statement belongs to a session, and a pooler may use
      // another session for the next transaction. The rollback removes the empty table that the transaction creates.
      await client.query("begin");
      await client.query("create table payment_links.other (like payment_links.payment_link including all)");
      await client.query("set local plan_cache_mode = force_generic_plan");
      await client.query(`prepare lookup as ${text.replace("payment_links.payment_link", "payment_links.other")}`);
      const { rows } = await client.query(`explain execute lookup ('{}', '{}'${lenders === 1 ? ", null" : ""})`);
      await client.query("deallocate lookup");
      await client.query("rollback");
      client.release();
      expect(JSON.stringify(rows)).toMatch(/Index Cond: \(\(lender_id = [^)]+\) AND .*\(link_id = k\.link_id\)/);
    },
  );

  test("finds links of 20 lenders in one query", { tags: "many-lenders" }, async () => {
    const links = await Promise.all(Array.from({ length: 20 }, () => aMintedLink(database)));
    const found = await linksByLenderLinkId(
      database.em(),
      links.map(({ lenderId, linkId }) => ({ lenderId, linkId: linkId! })),
    );
    expect(found.map(({ id }) => id).toSorted()).toEqual(links.map(({ id }) => id).toSorted());
  });
});

describe("markPaid", () => {
  test("marks links in any status as paid, with the time of the earliest payment", async () => {
    const requested = await aRequestedLink(database);
    const minted = await aMintedLink(database, { lenderId: requested.lenderId });
    await transaction(database.em(), async (tx) =>
      markPaid(tx, [
        { ...requested, paidAt: minutesLater(1) },
        { ...minted, paidAt: minutesLater(3) },
        { ...minted, paidAt: minutesLater(2) },
      ]),
    );
    await transaction(database.em(), async (tx) => markPaid(tx, [{ ...requested, paidAt: minutesLater(9) }]));
    expect(await linkById(database.em(), requested)).toMatchObject({ status: "paid", paidAt: minutesLater(1) });
    expect(await linkById(database.em(), minted)).toMatchObject({ status: "paid", paidAt: minutesLater(2) });
  });

  test("marks a superseded link as paid, and does not change the link that superseded it", async () => {
    const first = await aMintedLink(database);
    const second = await aMintedLink(database, first);
    await transaction(database.em(), async (tx) => markPaid(tx, [{ ...first, paidAt: NOON }]));
    expect(await linkById(database.em(), first)).toMatchObject({ status: "paid" });
    expect(await liveLink(database.em(), second)).toMatchObject({ id: second.id });
  });

  test("marks a link as paid and keeps the lender's linkId if the mint is recorded at the same time", async () => {
    const links = await Promise.all(Array.from({ length: 6 }, () => aRequestedLink(database)));
    await Promise.all(
      links.flatMap((link) => [
        transaction(database.em(), async (tx) => markPaid(tx, [{ ...link, paidAt: NOON }])),
        mintedBy(database, link, { linkId: link.id, url: "https://a.example" }, NOON),
      ]),
    );
    for (const link of links) {
      expect(await linkById(database.em(), link)).toMatchObject({ status: "paid", linkId: link.id });
    }
  });

  test("like linksByLenderLinkId, sends one SQL statement for one lender and none for an empty list", async () => {
    expect(await sentForPaymentOf({ lenderId: newId() })).toEqual([
      expect.stringMatching(/^begin\b/),
      "payment-links.links-by-lender-link-id",
      "payment-links.mark-paid",
      "commit",
    ]);
  });

  test("like linksByLenderLinkId, sends one SQL statement for several lenders", { tags: "many-lenders" }, async () => {
    expect(await sentForPaymentOf({})).toEqual([
      expect.stringMatching(/^begin\b/),
      "payment-links.links-by-lender-link-id-of-many",
      "payment-links.mark-paid-of-many",
      "commit",
    ]);
  });

  async function sentForPaymentOf(owner: { lenderId?: string }): Promise<string[]> {
    const links = await Promise.all(Array.from({ length: 5 }, () => aMintedLink(database, owner)));
    sent.length = 0;
    await transaction(database.em(), async (tx) => {
      await linksByLenderLinkId(
        tx,
        links.map(({ lenderId, linkId }) => ({ lenderId, linkId: linkId! })),
      );
      markPaid(
        tx,
        links.map((link) => ({ ...link, paidAt: NOON })),
      );
      await linksByLenderLinkId(tx, []);
      markPaid(tx, []);
    });
    // Leaves out the settings of the transaction: on a cluster they are sent as a separate query.
    return sent.filter(({ text }) => !text.startsWith("set local")).map(({ name, text }) => name ?? text);
  }
});

describe("the queries that find links", () => {
  test("activeLinks and liveLink find the live link of a case that has one", async () => {
    const [one, other] = [await aMintedLink(database), await aMintedLink(database)];
    const unminted = await aRequestedLink(database);
    const found = await activeLinks(database.em(), [one, other, unminted, one]);
    expect(found.map(({ id }) => id).toSorted()).toEqual([one.id, other.id].toSorted());
    expect(await liveLink(database.em(), one)).toEqual(one);
    expect(await liveLink(database.em(), unminted)).toBeUndefined();
  });

  test("linkOfFieldPartner and linksOfFieldPartner return only links that the field partner requested", async () => {
    const link = await aMintedLink(database);
    expect(await linkOfFieldPartner(database.em(), link.fieldPartnerId, link.id)).toEqual(link);
    expect(await linkOfFieldPartner(database.em(), newId(), link.id)).toBeUndefined();
    const theirs = await aMintedLink(database);
    const ids = [link.id, theirs.id, newId()];
    expect(await linksOfFieldPartner(database.em(), link.fieldPartnerId, ids)).toEqual([link]);
  });

  test("stuckRequested returns requested links whose mint job was lost, oldest first", async () => {
    const older = await aRequestedLink(database, {}, minutesLater(-90));
    const newer = await aRequestedLink(database, {}, minutesLater(-80));
    expect(await stuckRequested(database.em(), minutesLater(-60))).toEqual([older, newer]);
    expect(await stuckRequested(database.em(), minutesLater(-85))).toEqual([older]);
  });
});
