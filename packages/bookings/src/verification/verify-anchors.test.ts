import { newId } from "@collections/database";
import { type AnchorLine, createAnchorKeys } from "@collections/ledger";
import { withoutTriggers } from "@collections/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { collectionsLedger } from "../index.ts";
import { bookingsDatabase } from "../../tests/bookings-database.ts";
import { NOW, SampleCase, writeBooks } from "../../tests/sample-books.ts";

const database = await bookingsDatabase();

const keys = createAnchorKeys({ masterKey: "0a".repeat(32) });
let sample: SampleCase;
let lines: string[];
beforeEach(() => {
  sample = new SampleCase(newId()).place(100_000n);
  lines = [];
});

/** Writes a payment, extends the chain and anchors its head. */
async function payAndAnchor(): Promise<void> {
  await payAndChain();
  await anchor();
}

async function payAndChain(): Promise<void> {
  await writeBooks(database, [sample.pay(1_000n)]);
  await collectionsLedger.extendChain(database.em(), sample.lenderId, { now: NOW });
}

async function anchor(signedBy = keys): Promise<number> {
  return collectionsLedger.anchorHeads(database.em(), {
    books: [sample.lenderId],
    keys: signedBy,
    environment: "live",
    now: NOW,
    append: async (line) => void lines.push(line),
  });
}

async function* anchorLines(texts: readonly string[]): AsyncGenerator<AnchorLine> {
  for (const [index, text] of texts.entries()) yield { place: `anchors.jsonl:${index + 1}`, text };
}

const verifyLines = (texts: readonly string[] = lines, trusted = keys.publicKeys) =>
  collectionsLedger.verifyAnchors(database.em(), anchorLines(texts), { keys: trusted, book: sample.lenderId });

async function ledgerProblems(): Promise<string[]> {
  const { problems } = await collectionsLedger.verify(database.em(), { now: NOW, book: sample.lenderId });
  return problems.map(({ code, table, id, detail }) => `${code} ${table} ${id}: ${detail}`);
}

/** Runs queries as a superuser with triggers disabled. */
async function forge(...statements: string[]): Promise<void> {
  await withoutTriggers(database.pool, async (client) => {
    for (const text of statements) await client.query(text, text.includes("$1") ? [sample.lenderId] : []);
  });
}

const BOOKING_COLUMNS = `lender_id, id, source_loan_number, reference, case_id, cycle, amount_minor, currency, mode,
  raw_mode, paid_at, link_id, visit_id, field_partner_id, attribution, applied_minor, excess_minor,
  outstanding_after_minor, total_collected_after_minor, status_after, sequence, warnings, recorded_at`;

/** Changes a booking, then recomputes its digest, every block and the record of the anchor. */
async function forgeBookingAndChain(sequence: bigint): Promise<void> {
  const { rows } = await database.pool.query<{ number: string }>(
    "select number::text from ledger.chain_block where lender_id = $1 order by number",
    [sample.lenderId],
  );
  await forge(
    `update ledger.payment_booking set reference = 'forged' where lender_id = $1 and sequence = ${sequence}`,
    `update ledger.payment_booking set digest = ledger.payment_booking_digest(${BOOKING_COLUMNS}) where lender_id = $1`,
    ...rows.map(
      ({ number }) => `update ledger.chain_block b set rows_hash = r.hash, previous_hash = p.hash,
         hash = ledger.chain_block_hash(b.lender_id, b.number, b.row_count, r.hash, p.hash, b.last_id, b.created_at)
       from (
         select sha256(string_agg(digest, ''::bytea order by id)) as hash from (
           select id, digest from ledger.transfer where lender_id = $1 and id = any (
             (select transfer_ids from ledger.chain_block where lender_id = $1 and number = ${number})::uuid[])
           union all
           select id, digest from ledger.payment_booking where lender_id = $1 and id = any (
             (select booking_ids from ledger.chain_block where lender_id = $1 and number = ${number})::uuid[])
         ) row
       ) r, (
         select coalesce((select hash from ledger.chain_block where lender_id = $1 and number = ${number} - 1),
           decode(repeat('00', 32), 'hex')) as hash
       ) p
       where b.lender_id = $1 and b.number = ${number}`,
    ),
    `update ledger.anchor a set hash = b.hash from ledger.chain_block b
     where a.lender_id = $1 and b.lender_id = $1 and b.number = a.number`,
  );
}

test("verifyAnchors returns the newest block that the anchors prove, with the number of newer rows", async () => {
  await payAndAnchor();
  await payAndAnchor();
  await payAndChain();
  await writeBooks(database, [sample.pay(1_000n)]);
  const { proven, ...found } = await verifyLines();
  expect(found).toEqual({ ok: true, anchors: 2, tornLines: 0, problems: [], totalProblems: 0n });
  expect(proven).toEqual([
    {
      book: sample.lenderId,
      block: 2n,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      chainedAt: NOW,
      anchoredAt: NOW,
      unprovenRows: 4n,
    },
  ]);
});

test("a changed booking is found only by the anchors if the chain was recomputed", async () => {
  for (let block = 1; block <= 4; block += 1) await payAndAnchor();
  await forgeBookingAndChain(4n);
  expect(await ledgerProblems()).toEqual([]);
  const { ok, problems, proven } = await verifyLines();
  expect(ok).toBe(false);
  expect(problems).toEqual([
    {
      code: "ANCHOR_MISMATCH",
      table: "anchor",
      id: "anchors.jsonl:3",
      book: sample.lenderId,
      detail: expect.stringMatching(
        /^Block 3 was anchored at 2026-.* with hash [0-9a-f]{64}; its hash is [0-9a-f]{64} now\..* up to block 2, .*2 anchors do not match/,
      ),
    },
  ]);
  expect(proven).toMatchObject([{ block: 2n, unprovenRows: 4n }]);
});

test("verifyAnchors reports the first mismatching anchor, whatever the order of the lines in the anchor file", async () => {
  for (let block = 1; block <= 4; block += 1) await payAndAnchor();
  await forgeBookingAndChain(3n);
  const { problems, proven } = await verifyLines(lines.toReversed());
  expect(problems).toMatchObject([
    { id: "anchors.jsonl:3", detail: expect.stringMatching(/^Block 2 .* up to block 1,/) },
  ]);
  expect(proven).toMatchObject([{ block: 1n }]);
});

describe("a chain that is shorter than its anchors", () => {
  test("is reported if its newest rows and blocks were deleted", async () => {
    await payAndAnchor();
    await payAndAnchor();
    await forge(
      `delete from ledger.transfer where lender_id = $1 and sequence = 3`,
      `delete from ledger.payment_booking where lender_id = $1 and sequence = 3`,
      `delete from ledger.chain_block where lender_id = $1 and number = 2`,
    );
    expect(await ledgerProblems()).toEqual([
      expect.stringMatching(/^ANCHORED_BLOCK_CHANGED chain_block 2: It was anchored at .* not there any more\.$/),
    ]);
    await forge(`delete from ledger.anchor where lender_id = $1`);
    expect(await ledgerProblems()).toEqual([]);
    const { problems } = await verifyLines();
    expect(problems).toMatchObject([
      {
        code: "ANCHOR_BEYOND_CHAIN",
        id: "anchors.jsonl:2",
        detail: expect.stringMatching(
          /^Block 2 was anchored .* the chain ends with block 1 .* restored to an earlier state/,
        ),
      },
    ]);
  });

  test("is reported if all rows of the lender were deleted", async () => {
    await payAndAnchor();
    await forge(
      ...["account", "transfer", "payment_booking", "chain_block"].map(
        (table) => `delete from ledger.${table} where lender_id = $1`,
      ),
      `delete from ledger.anchor where lender_id = $1`,
    );
    expect((await verifyLines()).problems).toMatchObject([
      { code: "ANCHOR_BEYOND_CHAIN", detail: expect.stringContaining("there is no chain") },
    ]);
  });

  test("is reported if its anchors were removed too, because its last anchor is recorded in the database", async () => {
    await payAndAnchor();
    await forge(
      ...["account", "transfer", "payment_booking", "chain_block"].map(
        (table) => `delete from ledger.${table} where lender_id = $1`,
      ),
    );
    const { problems } = await collectionsLedger.verifyAnchors(database.em(), anchorLines([]), {
      keys: keys.publicKeys,
    });
    expect(problems).toContainEqual(expect.objectContaining({ code: "ANCHORS_MISSING", book: sample.lenderId }));
  });

  test("is anchored again after a restore, and the anchors from before the restore are still reported", async () => {
    for (let block = 1; block <= 3; block += 1) await payAndAnchor();
    await forge(
      `delete from ledger.transfer where lender_id = $1 and sequence >= 3`,
      `delete from ledger.payment_booking where lender_id = $1 and sequence >= 3`,
      `delete from ledger.chain_block where lender_id = $1 and number >= 2`,
    );
    const before = lines.length;
    sample.sequence = 2n;
    sample.outstandingMinor += 2_000n;
    sample.collectedMinor -= 2_000n;
    await payAndAnchor();
    expect(lines).toHaveLength(before + 1);
    expect((await verifyLines()).problems).toMatchObject([{ code: "ANCHOR_MISMATCH", id: "anchors.jsonl:2" }]);
    expect((await verifyLines(lines.slice(before))).problems).toEqual([]);
  });
});

describe("verifyAnchors", () => {
  beforeEach(async () => {
    for (let block = 1; block <= 3; block += 1) await payAndAnchor();
  });

  test("reports a changed line with its place", async () => {
    const [first, second, third] = lines;
    const forged = second!.replace('"block":2', '"block":1');
    expect((await verifyLines([first!, forged, third!])).problems).toMatchObject([
      { code: "ANCHOR_FORGED", id: "anchors.jsonl:2", book: null },
    ]);
    const broken = second!.replace('"heads":[', '"heads":');
    expect((await verifyLines([first!, broken, third!])).problems).toMatchObject([
      { code: "ANCHOR_UNREADABLE", id: "anchors.jsonl:2" },
    ]);
  });

  test("does not trust a line that was signed with an unknown signing key, and reports the id of the key", async () => {
    const stranger = createAnchorKeys({ masterKey: "b1".repeat(32) });
    await payAndChain();
    await anchor(stranger);
    const found = await verifyLines();
    expect(found.problems.map(({ code, id }) => [code, id])).toEqual([
      ["ANCHOR_KEY_UNKNOWN", "anchors.jsonl:4"],
      ["ANCHORS_MISSING", "-"],
    ]);
    expect(found.problems[0]!.detail).toContain(stranger.keyId);
    expect(found.proven).toMatchObject([{ block: 3n }]);
  });

  test("reports missing anchors if the newest lines were removed", async () => {
    expect((await verifyLines(lines.slice(0, 2))).problems).toMatchObject([
      {
        code: "ANCHORS_MISSING",
        detail: expect.stringMatching(/^Block 3 was anchored .* newest anchor given is of block 2/),
      },
    ]);
  });

  test("reports missing anchors and no proven block if all lines were removed", async () => {
    const { ok, problems, proven } = await verifyLines([]);
    expect(ok).toBe(false);
    expect(problems.map(({ code }) => code)).toEqual(["ANCHORS_MISSING", "ANCHORS_MISSING"]);
    expect(proven).toMatchObject([{ block: null, unprovenRows: 7n }]);
  });
});

describe("the record of the anchors in the database", () => {
  beforeEach(async () => {
    for (let block = 1; block <= 3; block += 1) await payAndAnchor();
  });

  test("is reported if it was emptied with the service's database role", async () => {
    await database.pool.query("delete from ledger.anchor where lender_id = $1", [sample.lenderId]);
    const { ok, problems, proven } = await verifyLines();
    expect(ok).toBe(false);
    expect(problems).toEqual([
      {
        code: "ANCHOR_NOT_RECORDED",
        table: "anchor",
        id: "anchors.jsonl:3",
        book: sample.lenderId,
        detail: expect.stringMatching(
          /^Block 3 was anchored at 2026-.* but the database records no anchor of this book: /,
        ),
      },
    ]);
    expect(proven).toMatchObject([{ block: 3n }]);
  });

  test("is reported if it was set back to an earlier block", async () => {
    await database.pool.query(
      `update ledger.anchor a set number = 2, hash = b.hash from ledger.chain_block b
       where a.lender_id = $1 and b.lender_id = $1 and b.number = 2`,
      [sample.lenderId],
    );
    expect((await verifyLines()).problems).toMatchObject([
      { code: "ANCHOR_NOT_RECORDED", detail: expect.stringContaining("records only block 2, anchored at 2026-") },
    ]);
    expect((await verifyLines(lines.slice(0, 2))).problems).toEqual([]);
  });

  test("may lack an anchor that was made a moment ago", async () => {
    await database.pool.query("delete from ledger.anchor where lender_id = $1", [sample.lenderId]);
    const verifyAt = (now: Date, recordedAfterMs?: number) =>
      collectionsLedger.verifyAnchors(database.em(), anchorLines(lines), {
        keys: keys.publicKeys,
        book: sample.lenderId,
        now,
        ...(recordedAfterMs === undefined ? {} : { recordedAfterMs }),
      });
    const [soon, later] = [14, 16].map((minutes) => new Date(NOW.getTime() + minutes * 60_000));
    expect((await verifyAt(soon!)).problems).toEqual([]);
    expect((await verifyAt(later!)).problems).toMatchObject([{ code: "ANCHOR_NOT_RECORDED" }]);
    expect((await verifyAt(later!, 3_600_000)).problems).toEqual([]);
  });

  test("is compared with the blocks, also without anchors", async () => {
    expect(await ledgerProblems()).toEqual([]);
    await forge(`update ledger.anchor set hash = sha256('forged') where lender_id = $1`);
    expect(await ledgerProblems()).toEqual([
      expect.stringMatching(
        /^ANCHORED_BLOCK_CHANGED chain_block 3: .* with hash [0-9a-f]{64}; its hash is [0-9a-f]{64} now\.$/,
      ),
    ]);
  });
});

test("an anchor that a worker writes while verifyAnchors reads the anchor file is not reported as missing", async () => {
  await payAndAnchor();
  async function* slowLines(): AsyncGenerator<AnchorLine> {
    yield* anchorLines([...lines]);
    await payAndAnchor();
  }
  const options = { keys: keys.publicKeys, book: sample.lenderId };
  const found = await collectionsLedger.verifyAnchors(database.em(), slowLines(), options);
  expect(found).toMatchObject({ ok: true, anchors: 1, proven: [{ block: 1n, unprovenRows: 2n }] });
});

test("an incomplete anchor line of a killed worker is counted, but not reported as a problem", async () => {
  await payAndAnchor();
  await payAndAnchor();
  const torn = lines[0]!.slice(0, 100);
  expect(await verifyLines([torn, "", ...lines])).toMatchObject({ ok: true, anchors: 2, tornLines: 1 });
});

test("after a change of the master key, old anchors are valid if the old key or its public key is known", async () => {
  await payAndAnchor();
  const during = createAnchorKeys({ masterKey: "b1".repeat(32), previous: "0a".repeat(32) });
  const after = createAnchorKeys({ masterKey: "b1".repeat(32) });
  await payAndChain();
  await anchor(during);
  expect(await verifyLines(lines, during.publicKeys)).toMatchObject({ ok: true, anchors: 2 });
  expect((await verifyLines(lines, after.publicKeys)).problems).toMatchObject([{ code: "ANCHOR_KEY_UNKNOWN" }]);
  const kept = new Map([...keys.publicKeys, ...after.publicKeys]);
  expect(await verifyLines(lines, kept)).toMatchObject({ ok: true, anchors: 2 });
});

test("verifyAnchors compares all anchors, even if they do not fit into one SQL statement", async () => {
  await payAndAnchor();
  await payAndAnchor();
  const many = [...Array<string>(6_000).fill(lines[0]!), lines[1]!];
  expect(await verifyLines(many)).toMatchObject({ ok: true, anchors: 6_001, proven: [{ block: 2n }] });
});
