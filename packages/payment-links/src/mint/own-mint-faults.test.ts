import { newId, transaction } from "@collections/database";
import { describe, expect, test } from "vitest";
import { ownMintFaults } from "./own-mint-faults.ts";
import { type MintAnswer, recordUnavailable } from "../index.ts";
import { aRequestedLink, linksDatabase, mintedBy, minutesLater } from "../../tests/sample-links.ts";

const database = await linksDatabase();

const OURS = { unavailable: "dns", detail: "The resolver is away (ECONNREFUSED).", ownFault: true } as const;
const THEIRS = { unavailable: "dns", detail: "Our own words about a host (ENOTFOUND).", ownFault: false } as const;
const NO_CALL = { unavailable: "not_configured", detail: "The lender has registered no mint-link URL." } as const;
const MINTED = { minted: { linkId: "plink_1", url: "https://pay.lender.example/plink_1" } } as const;

/** The minute at which a mint call ended, and its answer. */
type Call = readonly [minute: number, answer: MintAnswer];

/** Records the mint calls of a new lender, and returns what is found after 20 minutes. */
async function foundAfter(calls: readonly Call[]) {
  const lenderId = newId();
  for (const [minute, answer] of calls) {
    const link = await aRequestedLink(database, { lenderId });
    if ("minted" in answer) await mintedBy(database, link, answer.minted, minutesLater(minute));
    else await transaction(database.em(), (tx) => recordUnavailable(tx, link, answer, minutesLater(minute)));
  }
  return ownMintFaults(database.em(), lenderId, minutesLater(20));
}

test("ownMintFaults reads failures that an older version recorded", async () => {
  const lenderId = newId();
  const detail = "Our own DNS server did not answer (ECONNREFUSED).";
  for (const minute of [10, 12]) {
    const link = await aRequestedLink(database, { lenderId });
    await transaction(database.em(), (tx) => recordUnavailable(tx, link, { ...OURS, detail }, minutesLater(minute)));
  }
  const asOlder = "update payment_links.payment_link set unavailable_own_fault = null where lender_id = $1";
  await database.pool.query(asOlder, [lenderId]);
  expect(await ownMintFaults(database.em(), lenderId, minutesLater(20))).toEqual({
    count: 2,
    since: minutesLater(10),
    detail,
  });
});

describe("ownMintFaults", () => {
  test.each<[string, Call[], { count: number; since: Date }]>([
    [
      "failures over a minute",
      [
        [10, OURS],
        [11, OURS],
      ],
      { count: 2, since: minutesLater(10) },
    ],
    [
      "failures after a minted link",
      [
        [9, MINTED],
        [10, OURS],
        [12, OURS],
      ],
      { count: 2, since: minutesLater(10) },
    ],
    [
      "failures before a link without a call",
      [
        [10, OURS],
        [12, OURS],
        [13, NO_CALL],
      ],
      { count: 2, since: minutesLater(10) },
    ],
    [
      "only the failures of the last 15 minutes",
      [
        [1, OURS],
        [10, OURS],
        [12, OURS],
      ],
      { count: 2, since: minutesLater(10) },
    ],
  ])("returns %s", async (_, calls, expected) => {
    expect(await foundAfter(calls)).toEqual({ ...expected, detail: OURS.detail });
  });

  test.each<[string, Call[]]>([
    ["there was no call", []],
    [
      "all failures are within a minute",
      [
        [10, OURS],
        [10.5, OURS],
      ],
    ],
    [
      "the newest call has minted a link",
      [
        [10, OURS],
        [12, OURS],
        [13, MINTED],
      ],
    ],
    [
      "the newest call failed on the lender's side",
      [
        [10, OURS],
        [12, OURS],
        [13, THEIRS],
      ],
    ],
    [
      "the failures are old",
      [
        [1, OURS],
        [4, OURS],
      ],
    ],
  ])("returns undefined if %s", async (_, calls) => {
    expect(await foundAfter(calls)).toBeUndefined();
  });
});
