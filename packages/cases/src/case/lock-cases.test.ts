import { newId, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import { sessionsWaitingForLocks } from "@collections/testing";
import { describe, expect, test } from "vitest";
import { applyPayment } from "./apply-payment.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { lockCase, lockCasesForImport, lockCurrentCaseOf, lockCurrentCases, lockFreeCases } from "./lock-cases.ts";
import type { ImportedCase, LockedCase } from "./locked-case.ts";
import { insertCases, writeCases } from "./write-cases.ts";

const database = await casesDatabase();
const NOW = new Date("2026-11-20T10:00:00Z");

test("lockCasesForImport, lockCurrentCases and lockCase return the stored values of a case", async () => {
  const stored = await store(
    database,
    exampleCase({ dpd: 3, tags: ["a", "b,c"], nextDueDate: "2026-12-01", metadata: { a: "b" } }),
  );
  await transaction(database.em(), async (tx) => {
    expect(await lockCasesForImport(tx, [keyOf(stored)])).toEqual([stored]);
    const [locked] = await lockCurrentCases(tx, [keyOf(stored)]);
    expect(stored).toMatchObject(locked as object);
    expect(Object.keys(locked as object)).not.toContain("borrowerPhone");
    expect(await lockCase(tx, { lenderId: stored.lenderId, caseId: stored.id })).toEqual(locked);
  });
});

test("lockCurrentCases returns nothing for an unknown loan, another lender's loan and an empty list", async () => {
  const stored = await store(database, exampleCase());
  await transaction(database.em(), async (tx) => {
    expect(await lockCurrentCases(tx, [])).toEqual([]);
    expect(await lockCurrentCases(tx, [{ ...keyOf(stored), lenderId: newId() }])).toEqual([]);
    expect(await lockCurrentCases(tx, [{ ...keyOf(stored), loan: "?" }, keyOf(stored), keyOf(stored)])).toHaveLength(1);
    expect(await lockCase(tx, { lenderId: newId(), caseId: stored.id })).toBeUndefined();
  });
});

test("lockCurrentCaseOf locks the loan's current case, also if a new cycle replaces the case during the wait", async () => {
  const old = await store(database, exampleCase());
  const next = { ...old, id: newId(), cycle: 2 };
  const key = { lenderId: old.lenderId, caseId: old.id };
  const lockedId = () => transaction(database.em(), async (tx) => (await lockCurrentCaseOf(tx, key))?.id);
  expect(await lockedId()).toBe(old.id);

  let waiting: Promise<string | undefined> | undefined;
  await transaction(database.em(), async (tx) => {
    await lockCurrentCases(tx, [keyOf(old)]);
    waiting = lockedId();
    await untilSomebodyWaits();
    await insertCases(tx, [next], [old], NOW);
  });
  expect(await waiting).toBe(next.id);
  expect(await lockedId()).toBe(next.id);
  const stranger = { lenderId: newId(), caseId: old.id };
  expect(await transaction(database.em(), (tx) => lockCurrentCaseOf(tx, stranger))).toBeUndefined();
});

test("concurrent payments of one loan leave no gap in its sequence", async () => {
  const stored = await store(database, exampleCase({ placedMinor: 1_000n, outstandingMinor: 1_000n }));
  await Promise.all(
    Array.from({ length: 20 }, () =>
      transaction(database.em(), async (tx) => {
        const [locked] = await lockCurrentCases(tx, [keyOf(stored)]);
        const effect = applyPayment(locked as LockedCase, { amountMinor: 60n, paidAt: NOW }, NOW);
        writeCases(tx, [effect.caseAfter], NOW);
      }),
    ),
  );
  const [after] = await transaction(database.em(), (tx) => lockCurrentCases(tx, [keyOf(stored)]));
  expect(after).toMatchObject({
    status: "collected",
    outstandingMinor: 0n,
    totalCollectedMinor: 1_200n,
    excessMinor: 200n,
    // Each of the 20 payments and the end of the case has one event, so the sequence grows by 21.
    sequence: stored.sequence + 21n,
  });
});

test("transactions that lock the same loans in opposite orders do not deadlock", async () => {
  const lenderId = newId();
  const stored = await Promise.all(Array.from({ length: 40 }, () => store(database, exampleCase({ lenderId }))));
  const keys = stored.map(keyOf);
  const rounds = Array.from({ length: 40 }, (_, round) =>
    transaction(database.em(), async (tx) => {
      const locked = await lockCurrentCases(tx, round % 2 === 0 ? keys : keys.toReversed());
      writeCases(
        tx,
        locked.map((theCase) => ({ ...theCase, sequence: theCase.sequence + 1n })),
        NOW,
      );
    }),
  );
  await Promise.all(rounds);
  const after = await transaction(database.em(), (tx) => lockCurrentCases(tx, keys));
  expect(new Set(after.map(({ sequence }) => sequence))).toEqual(new Set([41n]));
});

test("lockCurrentCases locks the case of the new cycle if another transaction starts that cycle during the wait", async () => {
  const old = await store(database, exampleCase({ sequence: 6n }));
  const other = await store(database, exampleCase({ lenderId: old.lenderId }));
  const next = { ...old, id: newId(), cycle: 2, sequence: 7n };
  let waiting: Promise<LockedCase[]> | undefined;
  await transaction(database.em(), async (tx) => {
    const replaced = await lockCasesForImport(tx, [keyOf(old)]);
    waiting = transaction(database.em(), (second) => lockCurrentCases(second, [keyOf(old), keyOf(other)]));
    await untilSomebodyWaits();
    expect(await insertCases(tx, [next], replaced, NOW)).toEqual([]);
  });
  const locked = await waiting;
  expect(locked?.map(({ id }) => id).sort()).toEqual([next.id, other.id].sort());
  expect(locked?.find(({ id }) => id === next.id)).toMatchObject({ cycle: 2, sequence: 7n, isCurrent: true });
  const earlier = await transaction(database.em(), (tx) => lockCase(tx, { lenderId: old.lenderId, caseId: old.id }));
  expect(earlier).toMatchObject({ isCurrent: false, sequence: 6n });
});

/** Opens a single PostgreSQL with a fake of Citus's catalog, so that the queries for a cluster are sent to it. */
async function fakeCluster() {
  const cluster = await casesDatabase();
  await cluster.pool.query(`create table pg_dist_partition as select 'h'::"char" as partmethod`);
  return cluster;
}

describe.each([
  { place: "on one PostgreSQL", at: database },
  { place: "with the queries for a cluster", at: await fakeCluster() },
])("lockFreeCases $place", ({ at }) => {
  test("reports an unknown loan as absent, and omits a loan from both lists if another transaction has locked it", async () => {
    const lenderId = newId();
    const [free, held] = [await store(at, exampleCase({ lenderId })), await store(at, exampleCase({ lenderId }))];
    const unknown = { lenderId, loan: "LN-never-imported" };
    await transaction(at.em(), async (tx) => {
      await lockCurrentCases(tx, [keyOf(held)]);
      const ofOneLender = await freeOf(at, [keyOf(free), keyOf(held), unknown, unknown]);
      expect(ofOneLender.locked.map(({ id }) => id)).toEqual([free.id]);
      expect(ofOneLender.absent).toEqual([unknown]);
    });
    expect(await freeOf(at, [])).toEqual({ locked: [], absent: [] });
  });

  test(
    "reports the unknown loan as absent and omits the locked loan from both lists, for loans of two lenders",
    { tags: "many-lenders" },
    async () => {
      const held = await store(at, exampleCase());
      const ofAnotherLender = { ...keyOf(held), lenderId: newId() };
      await transaction(at.em(), async (tx) => {
        await lockCurrentCases(tx, [keyOf(held)]);
        const ofTwoLenders = await freeOf(at, [keyOf(held), ofAnotherLender]);
        expect(ofTwoLenders).toEqual({ locked: [], absent: [ofAnotherLender] });
      });
    },
  );

  test("never reports an imported loan as absent, even while new cycles replace its case", async () => {
    const lenderId = newId();
    let current = await store(at, exampleCase({ lenderId }));
    const loan = keyOf(current);
    let isReplacing = true;
    const replaced = (async () => {
      for (let cycle = 2; cycle <= 200; cycle += 1) {
        const next = { ...current, id: newId(), cycle };
        await transaction(at.em(), async (tx) => {
          const [old] = await lockCasesForImport(tx, [loan]);
          expect(await insertCases(tx, [next], [old!], NOW)).toEqual([]);
        });
        current = next;
      }
      isReplacing = false;
    })();
    let looks = 0;
    const look = async (lock: () => Promise<{ absent: unknown[] }>) => {
      while (isReplacing) {
        expect((await lock()).absent).toEqual([]);
        looks += 1;
      }
    };
    const waiting = async () => {
      const locked = await transaction(at.em(), (tx) => lockCurrentCases(tx, [loan]));
      return { absent: locked.length === 1 ? [] : [loan] };
    };
    await Promise.all([replaced, look(() => freeOf(at, [loan])), look(() => freeOf(at, [loan])), look(waiting)]);
    expect(looks).toBeGreaterThan(100);

    const imported = Array.from({ length: 50 }, () => exampleCase({ lenderId }));
    for (const one of imported) {
      const looking = freeOf(at, [keyOf(one)]);
      await Promise.all([looking, store(at, one)]);
      expect(await freeOf(at, [keyOf(one)])).toMatchObject({ locked: [{ id: one.id }], absent: [] });
    }
  });
});

function freeOf(at: Database, loans: Parameters<typeof lockFreeCases>[1]) {
  return transaction(at.em(), (tx) => lockFreeCases(tx, loans));
}

async function store(at: Database, theCase: ImportedCase): Promise<ImportedCase> {
  await transaction(at.em(), (tx) => insertCases(tx, [theCase], [], NOW));
  return theCase;
}

function keyOf({ lenderId, sourceLoanNumber }: LockedCase) {
  return { lenderId, loan: sourceLoanNumber };
}

async function untilSomebodyWaits(): Promise<void> {
  await expect.poll(() => sessionsWaitingForLocks(database.pool)).toBeGreaterThan(0);
}
