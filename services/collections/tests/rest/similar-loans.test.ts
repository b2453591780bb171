import { withoutTriggers } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const COMPOSED = "CAFÉ-1";
const DECOMPOSED = COMPOSED.normalize("NFD");

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

async function aNewLender(): Promise<void> {
  lender = await aLender(service);
}

async function results(...rows: object[]): Promise<unknown> {
  return (await lender.importCases(rows)).body["results"];
}

function pay(loan: string, reference = "UTR1") {
  return lender.confirm(loan, { amount: 100, reference, paidAt: "2026-11-20T09:40:55Z", mode: "upi" });
}

/** Renames a loan, as an earlier version stored its number. */
async function rename(from: string, to: string): Promise<void> {
  const { rowCount } = await withoutTriggers(service.app.database.pool, (client) =>
    client.query("update cases.collection_case set source_loan_number = $2 where source_loan_number = $1", [from, to]),
  );
  expect(rowCount).toBe(1);
}

const warned = (code: string) => [{ outcome: "created", warnings: [{ code, pointer: "/rows/0/sourceLoanNumber" }] }];
const refused = (detail: RegExp) => [
  {
    outcome: "rejected",
    errors: [
      {
        code: "INVALID_TEXT",
        pointer: "/rows/0/sourceLoanNumber",
        detail: expect.stringMatching(detail) as string,
      },
    ],
  },
];

describe("the number of a new loan", () => {
  beforeAll(aNewLender);

  test.each([
    ["LN\u200B-7001", /invisible/],
    ["LN-7001\u200D", /invisible/],
    ["LN-\u00AD7001", /invisible/],
    ["\u202ALN-7001", /invisible/],
    ["LN\u2060-7001", /invisible/],
    ["#N/A", /error of a spreadsheet/],
    ["1,23E+15", /lost digits/],
    ['="0001234"', /send "0001234"/],
    ["NULL", /value is missing/],
  ])("cannot be %j", async (loan, detail) => {
    expect(await results(aRow(loan))).toMatchObject(refused(detail));
    expect((await lender.getCase(loan)).status).toBe(404);
  });

  test.each(["7E12", "05-Dec", "1234567890123450"])("is warned about as %s", async (loan) => {
    expect(await results(aRow(loan))).toMatchObject(warned("IDENTITY_IN_DOUBT"));
    expect(await results(aRow(loan))).toMatchObject([{ outcome: "unchanged", warnings: [] }]);
  });

  test("may be refused now if the loan exists", async () => {
    for (const loan of ["LN\u200B-7002", "#REF!"]) {
      await results(aRow("OLD"));
      await rename("OLD", loan);
      expect(await results(aRow(loan, { outstandingAmount: 4000 }))).toMatchObject([{ outcome: "updated" }]);
      expect(await pay(loan)).toMatchObject({ status: 200, body: { outstandingAfter: 3900 } });
      expect(await lender.getCase(loan)).toMatchObject({ status: 200, body: { sourceLoanNumber: loan } });
    }
  });
});

describe("a loan number with a composed and a decomposed form", () => {
  beforeAll(aNewLender);

  test("is one loan, which is stored in the composed form", async () => {
    expect(await results(aRow(DECOMPOSED), aRow(COMPOSED))).toMatchObject([
      { outcome: "created", sourceLoanNumber: COMPOSED },
      { outcome: "rejected", errors: [{ code: "DUPLICATE_IN_REQUEST" }] },
    ]);
    expect(await results(aRow(DECOMPOSED))).toMatchObject([{ outcome: "unchanged", sourceLoanNumber: COMPOSED }]);
    expect(await pay(DECOMPOSED)).toMatchObject({ status: 200 });
    expect(await pay(COMPOSED)).toMatchObject({ status: 409, body: { matches: true } });
    expect(await lender.getCase(DECOMPOSED)).toMatchObject({ status: 200, body: { sourceLoanNumber: COMPOSED } });
  });

  test("is created once by concurrent imports of both forms", async () => {
    const [one, other] = ["CAFÉ-2", "CAFÉ-2".normalize("NFD")];
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => results(aRow(index % 2 ? one : other))));
    const outcomes = answers.flat().map((answer) => (answer as { outcome: string }).outcome);
    expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "unchanged")).toHaveLength(9);
  });

  test("keeps the decomposed form that an earlier version stored", async () => {
    const [stored, sent] = ["CAFÉ-3".normalize("NFD"), "CAFÉ-3"];
    await results(aRow("OLD"));
    await rename("OLD", stored);
    expect(await results(aRow(sent))).toMatchObject([{ outcome: "unchanged", sourceLoanNumber: stored }]);
    expect(await pay(sent)).toMatchObject({ status: 200 });
  });
});

describe("a new loan number of digits", () => {
  beforeAll(aNewLender);

  test("is warned about if it differs from an open one in leading zeros", async () => {
    await results(aRow("0004711"), aRow("LN-4711"), aRow("14711"));
    expect(await results(aRow("4711"))).toMatchObject([
      {
        outcome: "created",
        warnings: [{ code: "SIMILAR_LOAN_NUMBER", detail: expect.stringContaining("0004711") as string }],
      },
    ]);
    expect(await results(aRow("4711"))).toMatchObject([{ outcome: "unchanged", warnings: [] }]);
    expect(await results(aRow("004711"))).toMatchObject(warned("SIMILAR_LOAN_NUMBER"));
  });

  test.each(["471100", "4711-0", "0047110", "00"])("as %s is not similar to 4711", async (loan) => {
    expect(await results(aRow(loan))).toMatchObject([{ outcome: "created", warnings: [] }]);
  });

  test("may repeat a loan that has ended, or another lender's loan", async () => {
    await results(aRow("0005", { outstandingAmount: 0 }));
    const other = await aLender(service);
    await other.importCases([aRow("00006")]);
    expect(await results(aRow("5"), aRow("6"))).toMatchObject([
      { outcome: "created", warnings: [] },
      { outcome: "created", warnings: [] },
    ]);
  });

  test("is warned about beside a similar row of its request", async () => {
    expect(await results(aRow("0000777"), aRow("777"))).toMatchObject([
      { outcome: "created", warnings: [] },
      { outcome: "created", warnings: [{ code: "SIMILAR_LOAN_NUMBER" }] },
    ]);
  });

  test("is warned about at least once in two concurrent imports", async () => {
    for (const number of ["801", "802", "803", "804", "805"]) {
      const answers = await Promise.all([results(aRow(number)), results(aRow(`00${number}`))]);
      const warnings = (answers.flat() as { warnings: unknown[] }[]).flatMap((answer) => answer.warnings);
      expect(warnings.length).toBeGreaterThanOrEqual(1);
    }
  });
});

describe("the reference of a new payment", () => {
  beforeAll(async () => {
    await aNewLender();
    await results(aRow("LN-1"));
  });

  test.each([
    ["#N/A", /error of a spreadsheet/],
    ["1.23E+15", /lost digits/],
    ['="77001"', /send "77001"/],
    ["nil", /value is missing/],
    ["####", /did not fit/],
  ])("cannot be %s", async (reference, detail) => {
    const errors = [{ code: "INVALID_TEXT", pointer: "/reference", detail: expect.stringMatching(detail) as string }];
    expect(await pay("LN-1", reference)).toMatchObject({ status: 422, body: { errors } });
  });

  test("is warned about if it is in doubt, also in the answer to a repeat", async () => {
    const warnings = [{ code: "IDENTITY_IN_DOUBT", pointer: "/reference" }];
    expect(await pay("LN-1", "7E12")).toMatchObject({ status: 200, body: { warnings } });
    expect(await pay("LN-1", "7E12")).toMatchObject({ status: 409, body: { original: { warnings } } });
  });

  test("may be refused now if the payment is booked", async () => {
    await pay("LN-1", "BOOKED");
    await withoutTriggers(service.app.database.pool, (client) =>
      client.query("update ledger.payment_booking set reference = '#NULL!' where reference = 'BOOKED'"),
    );
    expect(await pay("LN-1", "#NULL!")).toMatchObject({ status: 409, body: { matches: true } });
  });
});
