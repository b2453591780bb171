import { readFile } from "node:fs/promises";
import { migrate } from "@collections/database";
import { createDatabase } from "@collections/entities";
import {
  type Confirmation,
  type ConfirmationOutcome,
  confirmPayments,
  paymentMode,
  verifyBooks,
} from "@collections/flows";
import { AmountLiteral, display, money } from "@collections/money";
import { acmeWithLoans } from "./lender.ts";
import { schemas } from "./schemas.ts";

const url = process.env["DATABASE_URL"];
if (!url) throw new Error("DATABASE_URL is not set. Example: postgres://localhost/examples");
const at = { url, schemas };
await migrate({ ...at, jobs: true });
const database = await createDatabase(at);
const lender = await acmeWithLoans(database.em());

const [, ...lines] = (await readFile(new URL("statement.csv", import.meta.url), "utf8")).trim().split("\n");
const payments = lines.map((line): Confirmation => {
  const [date = "", reference = "", loan = "", amount = "", mode = ""] = line.split(",");
  const amounts = { amount: new AmountLiteral(amount), amountIsMajorUnits: true };
  const read = paymentMode(mode) ?? { mode: "other" as const, rawMode: mode, warnings: [] };
  return { lender, loan, reference, ...amounts, ...read, linkId: null, paidAt: new Date(date), acceptedAt: new Date() };
});
for (const [index, outcome] of (await confirmPayments(database.em(), payments, "sandbox")).entries()) {
  console.log(payments[index]?.reference, wordsFor(outcome));
}
const { ok, counts } = await verifyBooks(database.em(), { now: new Date() });
console.log(`${counts.bookings} payments are booked, ${ok ? "and the books are correct" : "and something is wrong"}.`);
await database.close();

function wordsFor(outcome: ConfirmationOutcome): string {
  if (outcome.kind === "refused") return `refused: ${outcome.code}`;
  if (outcome.kind === "duplicate") return ["booked before", ...outcome.differences].join(", with another ");
  const { outstandingAfterMinor, currency } = outcome.booking;
  return `booked: ${display(money(outstandingAfterMinor, currency), "en-IN")} left`;
}
