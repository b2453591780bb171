import { isUniqueViolation, newId, query, sqlState, statement, transaction } from "@collections/database";
import { describe, expect, test } from "vitest";
import {
  claimMint,
  LINK_STATUSES,
  linkById,
  markPaid,
  type PaymentLink,
  recordUnavailable,
  requestLink,
  UNAVAILABLE_REASONS,
} from "../index.ts";
import {
  aMintedLink,
  aRequest,
  aRequestedLink,
  linksDatabase,
  minutesLater,
  NOON,
  mintedBy,
} from "../../tests/sample-links.ts";

const database = await linksDatabase();
const MINTED = { linkId: "plink_77", url: "https://pay.lender.example/plink_77" };

const waitingForAVisit = statement(
  "payment-links.test-waiting-for-a-visit",
  `select from pg_locks where locktype = 'advisory' and not granted
     and database = (select oid from pg_database where datname = current_database())`,
);

function statusesOf(keys: readonly { lenderId: string; id: string }[]): Promise<string[]> {
  return Promise.all(keys.map(async (key) => (await linkById(database.em(), key))?.status ?? "missing"));
}

describe("requestLink", () => {
  test("stores a request with all its fields", async () => {
    const request = aRequest({ channels: ["email"] });
    const link = await transaction(database.em(), (tx) => requestLink(tx, request, NOON));
    expect(await linkById(database.em(), link)).toEqual(link);
    expect(link).toMatchObject({ ...request, status: "requested", mintStartedAt: null, createdAt: NOON });
  });

  test("uses all channels by default, and accepts an empty list of channels", async () => {
    expect((await aRequestedLink(database)).channels).toEqual(["whatsapp", "email"]);
    expect((await aRequestedLink(database, { channels: [] })).channels).toEqual([]);
  });

  test("reuses the mint key if the request is repeated within 10 minutes for the same visit and amount", async () => {
    const request = aRequest();
    const first = await aRequestedLink(database, request);
    const second = await aRequestedLink(database, request, minutesLater(10));
    expect(second.mintKey).toBe(first.mintKey);
    expect(second.id).not.toBe(first.id);
  });

  test.each([
    ["more than 10 minutes later", {}, minutesLater(10.01)],
    ["with another amount", { amountMinor: 1n }, NOON],
    ["on another visit", { visitId: newId() }, NOON],
  ])("makes a new mint key if the request is repeated %s", async (_how, other, at) => {
    const request = aRequest();
    const first = await aRequestedLink(database, request);
    const second = await aRequestedLink(database, { ...request, ...other }, at);
    expect(second.mintKey).not.toBe(first.mintKey);
  });

  test("does not reuse the mint key of a paid link, because the gateway would return the paid link again", async () => {
    const paid = await aMintedLink(database);
    await transaction(database.em(), async (tx) => markPaid(tx, [{ ...paid, paidAt: NOON }]));
    expect((await aRequestedLink(database, { ...paid })).mintKey).not.toBe(paid.mintKey);
  });

  test("waits for an uncommitted request for the same visit, and reuses its mint key", async () => {
    const request = aRequest();
    let second: Promise<PaymentLink> | undefined;
    const first = await transaction(database.em(), async (tx) => {
      const link = await requestLink(tx, request, NOON);
      second = aRequestedLink(database, request);
      await expect.poll(() => query(database.em(), waitingForAVisit, [])).toHaveLength(1);
      return link;
    });
    expect((await second)?.mintKey).toBe(first.mintKey);
  });
});

describe("claimMint", () => {
  test("lets exactly one of several concurrent runs make the mint call", async () => {
    const link = await aRequestedLink(database);
    const claims = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((minute) => claimMint(database.em(), { ...link, now: minutesLater(minute) })),
    );
    const claimed = claims.filter((claim) => claim !== undefined);
    expect(claimed).toEqual([await linkById(database.em(), link)]);
    expect(claimed[0]?.mintStartedAt).not.toBeNull();
  });

  test("returns undefined for a link that is already minted", async () => {
    const link = await aMintedLink(database);
    expect(await claimMint(database.em(), { ...link, now: NOON })).toBeUndefined();
  });
});

describe("recordMinted", () => {
  test("makes the link live, and supersedes the earlier live link of its case", async () => {
    const first = await aMintedLink(database);
    const second = await aRequestedLink(database, first);
    const recorded = await mintedBy(database, second, MINTED, minutesLater(1));
    expect(recorded).toMatchObject({
      changed: true,
      link: { ...MINTED, status: "minted", mintedAt: minutesLater(1) },
      superseded: { id: first.id, status: "superseded", supersededAt: minutesLater(1) },
    });
    expect(await linkById(database.em(), second)).toEqual(recorded.link);
    expect(await linkById(database.em(), first)).toEqual(recorded.superseded);
  });

  test("leaves one live link per case, even if several links of a case are recorded at the same time", async () => {
    const cases = Array.from({ length: 8 }, () => aRequest());
    await Promise.all(
      cases.map(async (request) => {
        const links = await Promise.all(
          [1, 2, 3].map((minor) => aRequestedLink(database, { ...request, amountMinor: BigInt(minor) })),
        );
        const recorded = await Promise.all(
          links.map((link) => mintedBy(database, link, { ...MINTED, linkId: link.id }, NOON)),
        );
        expect(recorded.map(({ changed }) => changed)).toEqual([true, true, true]);
        expect((await statusesOf(links)).toSorted()).toEqual(["minted", "superseded", "superseded"]);
      }),
    );
  });

  test("a unique index rejects a second live link of a case", async () => {
    const live = await aMintedLink(database);
    const other = await aRequestedLink(database, live);
    const force = database.pool.query(
      "update payment_links.payment_link set status = 'sent', link_id = 'a', url = 'b' where id = $1",
      [other.id],
    );
    expect(isUniqueViolation(await force.catch((error: unknown) => error))).toBe(true);
  });

  test("does not change a link that is already minted", async () => {
    const link = await aMintedLink(database);
    const again = await mintedBy(database, link, MINTED, minutesLater(1));
    expect(again).toMatchObject({ changed: false, link: { status: "minted", linkId: link.linkId, mintedAt: NOON } });
  });

  test("a link that was paid before its mint was recorded stays paid, and gets the lender's id and URL", async () => {
    const link = await aRequestedLink(database);
    await transaction(database.em(), async (tx) => markPaid(tx, [{ ...link, paidAt: NOON }]));
    const recorded = await mintedBy(database, link, MINTED, minutesLater(1));
    expect(recorded).toMatchObject({ changed: false, link: { ...MINTED, status: "paid", paidAt: NOON } });
  });

  test("an unavailable link stays unavailable, but gets the lender's id for attribution", async () => {
    const link = await aRequestedLink(database);
    const timeout = { unavailable: "timeout", detail: "No answer came." } as const;
    await transaction(database.em(), (tx) => recordUnavailable(tx, link, timeout, NOON));
    const recorded = await mintedBy(database, link, MINTED, NOON);
    expect(recorded).toMatchObject({ changed: false, link: { ...MINTED, status: "unavailable" } });
  });

  test("marks the link as paid if an earlier link with the same linkId is already paid", async () => {
    const first = await aMintedLink(database, {}, "plink_twice");
    const second = await aRequestedLink(database, first);
    await transaction(database.em(), async (tx) => markPaid(tx, [{ ...first, paidAt: NOON }]));
    const again = { linkId: "plink_twice", url: first.url! };
    const recorded = await mintedBy(database, second, again, minutesLater(1));
    expect(recorded).toMatchObject({ changed: false, superseded: undefined, link: { status: "paid", paidAt: NOON } });
  });
});

describe("recordUnavailable", () => {
  test.each(UNAVAILABLE_REASONS)("stores the reason %s", async (unavailable) => {
    const link = await aRequestedLink(database);
    const why = { unavailable, detail: "A sentence." };
    const recorded = await transaction(database.em(), (tx) => recordUnavailable(tx, link, why, minutesLater(1)));
    expect(recorded).toEqual({
      changed: true,
      link: {
        ...link,
        status: "unavailable",
        unavailableReason: unavailable,
        unavailableDetail: "A sentence.",
        unavailableOwnFault: false,
        unavailableAt: minutesLater(1),
        updatedAt: minutesLater(1),
      },
    });
    expect(await linkById(database.em(), link)).toEqual(recorded.link);
  });

  test("does not change a link that is already minted", async () => {
    const link = await aMintedLink(database);
    const why = { unavailable: "outcome_unknown", detail: "A sentence." } as const;
    const recorded = await transaction(database.em(), (tx) => recordUnavailable(tx, link, why, NOON));
    expect(recorded).toEqual({ changed: false, link });
  });

  test("does not change the live link of the same case", async () => {
    const live = await aMintedLink(database);
    const failed = await aRequestedLink(database, live);
    const why = { unavailable: "non_2xx", detail: "A sentence." } as const;
    await transaction(database.em(), (tx) => recordUnavailable(tx, failed, why, NOON));
    expect(await statusesOf([live, failed])).toEqual(["minted", "unavailable"]);
  });
});

test("the table accepts every status of a link, and rejects any other text", async () => {
  const { id } = await aMintedLink(database);
  const put = statement(
    "payment-links.test-put-status",
    "update payment_links.payment_link set status = $2, unavailable_reason = 'dns', paid_at = now() where id = $1",
  );
  for (const status of LINK_STATUSES) await query(database.em(), put, [id, status]);
  const odd = await query(database.em(), put, [id, "lost"]).catch((error: unknown) => error);
  expect(sqlState(odd)).toBe("23514");
});
