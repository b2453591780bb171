import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const CASES = "/api/v1/partner/cases";
const CONFIRM = `${CASES}/LN-1/payments/confirm`;
const REST_OF_PAYMENT = membersBesideAmount("pay_1");
const MIB = 1_024 * 1_024;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  await lender.importCases([aRow("LN-1")]);
});

describe("rejects a body with a duplicate field and changes nothing:", () => {
  test.each<[name: string, path: string, body: string, pointer: string]>([
    ["two amounts", CONFIRM, `{"amount":1,"amount":7,${REST_OF_PAYMENT}}`, "/amount"],
    ["the same amount twice", CONFIRM, `{"amount":7,${REST_OF_PAYMENT},"amount":7}`, "/amount"],
    [
      "two amounts, one of them with an escaped name",
      CONFIRM,
      `{"amount":1,"\\u0061mount":7,${REST_OF_PAYMENT}}`,
      "/amount",
    ],
    [
      "a duplicate inside a field that is ignored",
      CONFIRM,
      `{"amount":1,${REST_OF_PAYMENT},"note":{"a":[{"b":1,"b":2}]}}`,
      "/note/a/0/b",
    ],
    [
      "a name with the special characters of a JSON pointer",
      CONFIRM,
      `{"a/b~":1,"a/b~":2,"amount":1,${REST_OF_PAYMENT}}`,
      "/a~1b~0",
    ],
    ["a name of 5,000 letters", CONFIRM, `{"${"n".repeat(5_000)}":1,"${"n".repeat(5_000)}":1}`, `/${"n".repeat(64)}…`],
    ["two fields __proto__", CONFIRM, `{"__proto__":1,"__proto__":{},"amount":1,${REST_OF_PAYMENT}}`, "/__proto__"],
    ["two lists of rows", CASES, '{"rows":[],"rows":[]}', "/rows"],
    [
      "two balances in a row",
      CASES,
      `{"rows":[${JSON.stringify(aRow("LN-2"))},{"sourceLoanNumber":"LN-1","outstandingAmount":1,"outstandingAmount":2}]}`,
      "/rows/1/outstandingAmount",
    ],
    ["two fields dryRun", CASES, `{"rows":[${JSON.stringify(aRow("LN-2"))}],"dryRun":true,"dryRun":false}`, "/dryRun"],
    ["two filters of a replay", "/api/v1/partner/webhooks/deliveries/replay", '{"loan":"LN-1","loan":null}', "/loan"],
  ])("%s", async (_, path, body, pointer) => {
    const answer = await lender.call("POST", path, body);
    expect(answer).toMatchObject({
      status: 400,
      body: {
        code: "DUPLICATE_FIELD",
        retryable: false,
        errors: [{ code: "DUPLICATE_FIELD", pointer, detail: expect.stringContaining("sent twice") as string }],
      },
    });
    const { body: theCase } = await lender.getCase("LN-1");
    expect(theCase).toMatchObject({ totalCollected: 0, outstandingAfter: 5_000 });
    expect(await lender.getCase("LN-2")).toMatchObject({ status: 404 });
  });
});

describe("the complexity limit of JSON", () => {
  const row = JSON.stringify(aRow("LN-3"));

  test.each([
    ["5 MiB of nested arrays", `{"rows":${"[".repeat(2_600_000)}${"]".repeat(2_600_000)}}`],
    ["5 MiB of opening brackets", "[".repeat(5 * MIB)],
    ["500,000 nested objects", `{"rows":[${row},${'{"a":'.repeat(500_000)}1${"}".repeat(500_000)}]}`],
    ["1,700,000 empty arrays", `{"rows":[${row},[${"[],".repeat(1_700_000)}[]]]}`],
    ["200,000 numbers", `{"rows":[${row}],"x":[${"1,".repeat(200_000)}1]}`],
    ["300,000 names", `{"rows":[${row},{${Array.from({ length: 300_000 }, (_, at) => `"a${at}":1`).join(",")}}]}`],
    ["an amount of 5,000,000 digits", `{"rows":[{"sourceLoanNumber":"LN-3","outstandingAmount":${"1".repeat(5e6)}}]}`],
    ["an exponent of 5,000,000 digits", `{"rows":[${row}],"x":1e${"9".repeat(5e6)}}`],
  ])("rejects %s", async (_, body) => {
    const answer = await lender.call("POST", CASES, body);
    expect(answer).toMatchObject({ status: 400, body: { code: "JSON_TOO_COMPLEX", retryable: false } });
    expect(await lender.getCase("LN-3")).toMatchObject({ status: 404 });
  });

  test("allows an import of 1,000 rows with every field filled", async () => {
    const answer = await lender.call<{ summary: object }>("POST", CASES, { dryRun: true, rows: fullRows(1_000) });
    expect(answer).toMatchObject({ status: 200, body: { success: true, summary: { created: 1_000 } } });
  });
});

/** Returns all members of a confirmation except its amount. */
function membersBesideAmount(reference: string): string {
  return `"reference":"${reference}","paidAt":"2026-11-20T09:40:55Z","mode":"upi"`;
}

function fullRows(count: number): object[] {
  const some = <One>(length: number, one: (index: number) => One) => Array.from({ length }, (_, index) => one(index));
  const address = { line1: "1 MG Road", line2: "a", landmark: "b", city: "Mumbai", district: "c", state: "MH" };
  return some(count, (index) =>
    aRow(`FULL-${index}`, {
      action: "upsert",
      reason: null,
      outstandingAsOf: "2026-11-20T09:40:55Z",
      currency: "INR",
      minimumAmount: 10,
      emiAmount: 10.5,
      dpd: 31,
      bucket: "31-60",
      nextDueDate: "2026-12-01",
      overdueSince: "2026-10-01",
      productType: "personal",
      branchCode: "MUM",
      allocationRef: "a",
      tags: some(20, (tag) => `tag ${tag}`),
      alternatePhones: some(10, (last) => `+91980000000${last}`),
      borrowerEmail: "ravi@example.com",
      language: "hi",
      addresses: some(10, () => ({ ...address, postalCode: "400001", country: "IN", latitude: 12.9, longitude: 77.6 })),
      consent: { whatsapp: true, email: false },
      doNotContactUntil: "2026-12-01",
      metadata: Object.fromEntries(some(20, (pair) => [`name${pair}`, `value ${pair}`])),
    }),
  );
}

test("an amount at the limits of a double is booked exactly or rejected", async () => {
  const sent: [amount: string, expected: object][] = [
    ["0.1e1", { status: 200, body: { totalCollected: 1 } }],
    ["1e400", { status: 422, body: { code: "AMOUNT_OUT_OF_RANGE" } }],
    ["1e-400", { status: 422, body: { code: "AMOUNT_PRECISION" } }],
    [`0.${"3".repeat(998)}`, { status: 422, body: { code: "AMOUNT_PRECISION" } }],
    [`1${"0".repeat(999)}`, { status: 422, body: { code: "AMOUNT_OUT_OF_RANGE" } }],
    [`1${"0".repeat(1_000)}`, { status: 400, body: { code: "JSON_TOO_COMPLEX" } }],
  ];
  for (const [index, [amount, expected]] of sent.entries()) {
    const body = `{"amount":${amount},${membersBesideAmount(`edge_${index}`)}}`;
    const answer = await lender.call("POST", CONFIRM, body);
    expect(answer, amount).toMatchObject(expected);
  }
});
