import { caseByLoan } from "@collections/cases";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type LoopStall, watchLoop } from "../fixtures/loop-stall.ts";
import { startProcess } from "../fixtures/processes.ts";

// `WATCH_LOOP=1 vitest run rest/largest-imports` prints for how long each import blocked the service's event loop.
const WATCHES_LOOP = process.env["WATCH_LOOP"] !== undefined;

const MAX_ROWS = 1_000;
const MAX_BYTES = 5 * 1_024 * 1_024;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let loop: LoopStall | undefined;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  let { url } = service;
  if (WATCHES_LOOP) {
    ({ url } = await startProcess({ DATABASE_URL: service.databaseUrl, ROLE: "server", RATE_LIMITS: "off" }));
    loop = await watchLoop(`${url}/metrics`);
  }
  lender = await aLender({ ...service, url });
});

/** Returns the metadata of a row: ten names with values of about 450 bytes each. */
function metadata(value: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`key ${index}`, `${index} ${value}`]));
}

/**
 * Rows of several kinds. An import of 1,000 rows of one kind is close to 5 MiB, and each kind is expensive in its own
 * way.
 */
const ROWS: Record<string, (loan: number) => Record<string, unknown>> = {
  "long texts": (loan) => ({ metadata: metadata(`${loan} ${"x".repeat(450)}`) }),
  "texts of quotation marks": (loan) => ({ metadata: metadata(`${loan} ${'"'.repeat(225)}`) }),
  "texts of backslashes": (loan) => ({ metadata: metadata(`${loan} ${"\\".repeat(225)}`) }),
  "texts of four bytes a character": (loan) => ({ metadata: metadata(`${loan} ${"😀".repeat(110)}`) }),
  "ten addresses": (loan) => ({ addresses: Array.from({ length: 10 }, (_, index) => anAddress(`${loan}-${index}`)) }),
  "many tags": (loan) => ({
    tags: Array.from({ length: 20 }, (_, index) => `"${loan}" ${index} ${"t".repeat(40)}`),
    alternatePhones: ["+919800000002", "+919800000003"],
  }),
  "many unknown fields": (loan) =>
    Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`unknown-${"n".repeat(20)}-${index}`, loan])),
};

function anAddress(line1: string): object {
  const lines = { line1, line2: "w".repeat(80), landmark: "x".repeat(80), city: "Pune", district: "y".repeat(80) };
  return { ...lines, state: "z".repeat(50), postalCode: "411001", country: "IN", latitude: 18.52, longitude: 73.85 };
}

test.each(Object.keys(ROWS))(
  "an import of 1,000 rows with %s is applied, and so is a second import with other balances",
  async (kind) => {
    const rows = Array.from({ length: MAX_ROWS }, (_, loan) => aRow(`LN-${loan}`, ROWS[kind]!(loan)));
    expect(Buffer.byteLength(JSON.stringify({ rows }))).toBeLessThan(MAX_BYTES);
    for (const owed of [4_000, 3_000]) {
      const changed = rows.map((row) => ({ ...row, outstandingAmount: owed }));
      const { status, body } = await lender.call<{ success: boolean }>("POST", "/api/v1/partner/cases", {
        rows: changed,
      });
      expect({ status, success: body.success }).toEqual({ status: 200, success: true });
      if (loop) process.stdout.write(`${kind}: ${(await loop.slowestMs()).toFixed(0)} ms\n`);
    }
    const em = service.app.database.em();
    const { id } = (await lenderByCode(em, lender.code))!;
    const stored: object = (await caseByLoan(em, id, "LN-417"))!;
    const sent = Object.entries(ROWS[kind]!(417)).filter(([field]) => field in stored);
    expect(stored).toMatchObject(Object.fromEntries(sent));
  },
);
