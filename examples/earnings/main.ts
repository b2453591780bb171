import { readFile } from "node:fs/promises";
import { createDatabase, isUniqueViolation, migrate, transaction } from "@collections/database";
import * as earnings from "@collections/earnings";
import { earningsSchema } from "@collections/earnings/schema";
import { currency, display, money, parsePercent } from "@collections/money";

const url = process.env["DATABASE_URL"];
if (!url) throw new Error("DATABASE_URL is missing: postgres://localhost/examples, for example.");
const at = { url, schemas: [earningsSchema] };
await migrate(at);
const database = await createDatabase(at);
const [lenderId, INR, now] = ["019aa3b7-f01c-7d22-a1b2-c3d4e5f60718", currency("INR"), new Date()];
const commission = parsePercent("2.5");
if ("fault" in commission) throw new RangeError(commission.detail);

// What another system has booked: each of these payments has ended its case.
const file = await readFile(new URL("payments.json", import.meta.url), "utf8");
const read = JSON.parse(file, (key, value: unknown) => (key === "appliedMinor" ? BigInt(value as number) : value));
const payments = (read as earnings.AttributedPayment[]).map((one) => ({ ...one, lenderId, currency: INR }));
const earned = payments.flatMap((payment) => earnings.earningOn(payment, commission.percent, now) ?? []);
const credited = earned.map((earning) => earnings.credited(earning, now));
const batch = transaction(database.em(), async (tx) => earnings.addEarnings(tx, credited));
await batch.catch((error: unknown) => {
  if (!isUniqueViolation(error)) throw error;
  console.log("This batch was kept before: nothing of it is kept twice.");
});

// The month's payout, one for each person. The bank's reference is its name for good.
for (const fieldPartnerId of new Set(earned.map((earning) => earning.fieldPartnerId))) {
  const reference = `NOV-${fieldPartnerId.slice(-2)}`;
  const order = { fieldPartnerId, currency: INR, reference, paidOn: "2025-12-01", until: null };
  const paid = await transaction(database.em(), async (tx) => {
    const lines = await earnings.lockCredited(tx, order);
    if (lines.length === 0) return earnings.payoutByReference(tx, reference);
    const payout = earnings.payoutOf(lines, order, now);
    earnings.payOut(tx, payout, lines);
    return payout;
  });
  for (const line of paid ? await earnings.linesOfPayout(database.em(), paid) : []) {
    console.log(`${line.sourceLoanNumber}: ${earnings.formula(line, "en-IN")}`);
  }
  if (paid) console.log(`${reference}: ${display(money(paid.amountMinor, INR), "en-IN")}`);
}
await database.close();
