import { isUniqueViolation, newId, transaction } from "@collections/database";
import { currency } from "@collections/money";
import { expect, test } from "vitest";
import { applyPayment } from "./apply-payment.ts";
import type { CaseDetails } from "./case-details.ts";
import { casesDatabase } from "../../tests/cases-database.ts";
import { exampleCase } from "../../tests/example-case.ts";
import { importRun, recordImport, recordUnappliedImport } from "../import/import-run.ts";
import { lockCasesForImport, lockCurrentCases } from "./lock-cases.ts";
import type { ImportedCase, LockedCase } from "./locked-case.ts";
import { caseByLoan } from "../list/read-cases.ts";
import { transition } from "./transitions.ts";
import { insertCases, writeBalances, writeCases, writeCaseStates, writeImportedCases } from "./write-cases.ts";

const database = await casesDatabase();
const EARLIER = new Date("2026-11-19T10:00:00.123Z");
const NOW = new Date("2026-11-20T10:00:00.456Z");

test(
  "writeCases writes only the columns that payments change, for cases of several lenders",
  {
    tags: "many-lenders",
  },
  async () => {
    const [first, second] = await storeAll([exampleCase({ dpd: 3 }), exampleCase()]);
    const effects = [first, second].map((theCase, index) =>
      applyPayment(theCase, { amountMinor: index === 0 ? 1n : 600_000n, paidAt: EARLIER }, NOW),
    );
    await transaction(database.em(), async (tx) => {
      await lockCurrentCases(tx, [keyOf(first), keyOf(second)]);
      writeCases(
        tx,
        effects.map(({ caseAfter }) => caseAfter),
        NOW,
      );
    });
    expect(await read(first)).toEqual(effects[0]?.caseAfter);
    expect(await read(second)).toEqual(effects[1]?.caseAfter);
    expect(await caseByLoan(database.em(), first.lenderId, first.sourceLoanNumber)).toMatchObject({
      createdAt: EARLIER,
      updatedAt: NOW,
    });
  },
);

test("writeCaseStates writes the whole state and no amounts", async () => {
  const [stored] = await storeAll([exampleCase()]);
  const assigned = transition(stored, { kind: "assign", fieldPartnerId: newId() }, NOW);
  if (!assigned.allowed) throw new Error(assigned.refusal.detail);
  const held = transition(assigned.caseAfter, { kind: "hold", reason: "complaint" }, NOW);
  if (!held.allowed) throw new Error(held.refusal.detail);
  const after = { ...held.caseAfter, lastVisitId: newId(), lastDisposition: "DISPUTE", outstandingMinor: 1n } as const;
  await transaction(database.em(), async (tx) => writeCaseStates(tx, [after], NOW));
  expect(await read(stored)).toEqual({ ...after, outstandingMinor: stored.outstandingMinor });
});

test("writeBalances writes the balance and the peak, and keeps updatedAt", async () => {
  const lenderId = newId();
  const [first, second] = await storeAll([
    exampleCase({ lenderId, outstandingAsOf: EARLIER }),
    exampleCase({ lenderId }),
  ]);
  const moved = [first, second].map((one) => ({
    ...one,
    outstandingAsOf: NOW,
    peakMinor: 700_000n,
    balanceMinor: 800_000n,
    balanceAsOf: NOW,
    balanceSequence: 7n,
    outstandingMinor: 1n,
  }));
  await transaction(database.em(), async (tx) => writeBalances(tx, [...moved, { ...second, id: newId() }]));
  for (const stored of [first, second]) {
    const balance = { balanceMinor: 800_000n, balanceAsOf: NOW, balanceSequence: 7n };
    expect(await read(stored)).toEqual({ ...stored, ...balance, outstandingAsOf: NOW, peakMinor: 700_000n });
    const { updatedAt } = (await caseByLoan(database.em(), stored.lenderId, stored.sourceLoanNumber))!;
    expect(updatedAt).toEqual(EARLIER);
  }
});

const details: CaseDetails = {
  allocationRef: "A-7",
  tags: ["a", 'b "c", {d}'],
  minimumMinor: 1n,
  outstandingAsOf: EARLIER,
  productType: "personal",
  branchCode: "B1",
  emiMinor: 999_999_999_999_999n,
  nextDueDate: "2026-12-01",
  overdueSince: "1999-12-31",
  dpd: 50,
  bucket: "B2",
  borrowerName: "Ÿ'\\ अनु",
  borrowerPhone: "+919800000002",
  alternatePhones: ["+919800000003"],
  borrowerEmail: "a@example.com",
  language: "hi-IN",
  addresses: [
    {
      line1: "1",
      line2: null,
      landmark: null,
      city: "Pune",
      district: null,
      state: null,
      postalCode: null,
      country: "IN",
      latitude: 18.5,
      longitude: null,
    },
  ],
  consent: { whatsapp: false, email: null },
  doNotContactUntil: "2026-12-24",
  metadata: JSON.parse('{"b":"1","a":"2","__proto__":"3"}') as Record<string, string>,
};

test("insertCases and writeImportedCases store every detail of a row", async () => {
  const lenderId = newId();
  const [made, changed] = await storeAll([exampleCase({ ...details, lenderId }), exampleCase({ lenderId })]);
  expect(await read(made)).toEqual(made);
  const after: ImportedCase = { ...changed, ...details, outstandingMinor: 7n, sequence: 9n };
  await transaction(database.em(), async (tx) => writeImportedCases(tx, [after], NOW));
  expect(await read(changed)).toEqual(after);
});

test("caseByLoan returns every stored value of a case", async () => {
  const [stored] = await storeAll([exampleCase({ ...details, currency: currency("KWD") })]);
  expect(await caseByLoan(database.em(), stored.lenderId, stored.sourceLoanNumber)).toMatchObject({ ...stored });
});

test("insertCases inserts 1,000 cases", async () => {
  const lenderId = newId();
  const cases = Array.from({ length: 1000 }, () => exampleCase({ lenderId }));
  const leftOver = await transaction(database.em(), (tx) => insertCases(tx, cases, [], NOW));
  expect(leftOver).toEqual([]);
  const locked = await transaction(database.em(), (tx) => lockCurrentCases(tx, cases.map(keyOf)));
  expect(locked).toHaveLength(1000);
});

test("insertCases returns the cases that a concurrent import of the same loans has already inserted", async () => {
  const lenderId = newId();
  const loans = Array.from({ length: 50 }, (_, index) => `LN-${index}`);
  const cases = (names: string[]) => names.map((name) => exampleCase({ lenderId, sourceLoanNumber: name }));
  const leftOver = await Promise.all(
    [cases(loans), cases(loans.toReversed())].map((newCases) =>
      transaction(database.em(), (tx) => insertCases(tx, newCases, [], NOW)),
    ),
  );
  expect(leftOver.map(({ length }) => length).sort((a, b) => a - b)).toEqual([0, 50]);
});

test("the write functions accept empty lists", async () => {
  await transaction(database.em(), async (tx) => {
    writeCases(tx, [], NOW);
    writeCaseStates(tx, [], NOW);
    writeImportedCases(tx, [], NOW);
    writeBalances(tx, []);
    expect(await insertCases(tx, [], [], NOW)).toEqual([]);
  });
});

test("recordImport stores the counts and the rejected rows of an import, and fails if its id is already recorded", async () => {
  const errors = [{ code: "LOAN_NOT_FOUND" as const, pointer: "/rows/1/sourceLoanNumber", detail: "Import it first." }];
  const run = {
    lenderId: newId(),
    importId: newId(),
    atomic: false,
    summary: { received: 2, created: 1, rejected: 1 },
    refused: [{ index: 1, errors }],
  };
  const record = () => transaction(database.em(), async (tx) => recordImport(tx, run, NOW));
  await record();
  const { importId: id, summary, refused } = run;
  expect(await importRun(database.em(), run.lenderId, id)).toMatchObject({ id, summary, refused, createdAt: NOW });
  expect(await importRun(database.em(), newId(), id)).toBeUndefined();
  await expect(record()).rejects.toSatisfy(isUniqueViolation);
});

test("recordUnappliedImport records the options of the first use of an id, and returns false for the second", async () => {
  const run = { lenderId: newId(), importId: newId(), atomic: true, summary: { created: 1 }, refused: [] };
  const record = (dryRun: boolean) =>
    transaction(database.em(), (tx) => recordUnappliedImport(tx, { ...run, dryRun }, NOW));
  expect(await record(true)).toBe(true);
  expect(await record(false)).toBe(false);
  const recorded = await importRun(database.em(), run.lenderId, run.importId);
  expect(recorded).toMatchObject({ applied: false, dryRun: true, atomic: true });
  const applied = transaction(database.em(), async (tx) => recordImport(tx, run, NOW));
  await expect(applied).rejects.toSatisfy(isUniqueViolation);
});

async function storeAll<const Cases extends readonly ImportedCase[]>(cases: Cases): Promise<Cases> {
  await transaction(database.em(), (tx) => insertCases(tx, cases, [], EARLIER));
  return cases;
}

async function read(theCase: LockedCase): Promise<ImportedCase | undefined> {
  const [found] = await transaction(database.em(), (tx) => lockCasesForImport(tx, [keyOf(theCase)]));
  return found;
}

function keyOf({ lenderId, sourceLoanNumber }: LockedCase) {
  return { lenderId, loan: sourceLoanNumber };
}
