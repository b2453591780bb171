import { readFile } from "node:fs/promises";
import { isUniqueViolation, migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import * as earnings from "@collections/earnings";
import { earningsSchema } from "@collections/earnings/schema";
import { currency, display, money, parsePercent } from "@collections/money";

const url = process.env["DATABASE_URL"];
if (!url) throw new Error("DATABASE_URL is not set. Example: postgres://localhost/examples");
const at = { url, schemas: [earningsSchema] };
await migrate(at);
const database = await createDatabase(at);
const [lenderId, INR, now] = ["019aa3b7-f01c-7d22-a1b2-c3d4e5f60718", currency("INR"), new Date()];
const commission = parsePercent("2.5");
if ("fault" in commission) throw new RangeError(commission.detail);

// Payments that another system has booked. Each of them closed its case. Amounts are minor units, as text.
const file = await readFile(new URL("payments.json", import.meta.url), "utf8");
const read = JSON.parse(file, (key, value: unknown) => (key === "appliedMinor" ? BigInt(value as string) : value));
const payments = (read as earnings.AttributedPayment[]).map((one) => ({ ...one, lenderId, currency: INR }));
const earned = payments.flatMap((payment) => earnings.earningOn(payment, commission.percent, now) ?? []);
for (const earning of earned) {
  const credited = earnings.credited(earning, now);
  // The database accepts only one earning per bookingId.
  const kept = transaction(database.em(), async (tx) => earnings.addEarnings(tx, [credited]));
  await kept.catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error;
    console.log(`${earning.reference} was kept before.`);
  });
}

// Records this month's payout to each person. The reference identifies a payout forever. In production, use the
// reference of the bank transfer.
for (const fieldPartnerId of new Set(earned.map((earning) => earning.fieldPartnerId))) {
  const reference = `NOV/${fieldPartnerId}`;
  const order = { fieldPartnerId, currency: INR, reference, paidOn: now.toISOString().slice(0, 10), until: null };
  const paid = await transaction(database.em(), async (tx) => {
    await earnings.lockReference(tx, reference); // another process with the same payout waits here
    const known = await earnings.payoutByReference(tx, reference);
    if (known) return known;
    const lines = await earnings.lockCredited(tx, order);
    if (lines.length === 0) return undefined;
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
