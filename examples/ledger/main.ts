import * as bookings from "@collections/bookings";
import { isUniqueViolation, migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { bookingsSchema } from "@collections/bookings/schema";
import { currency, display, money } from "@collections/money";
import { bookingOf } from "./receipt.ts";

const url = process.env["DATABASE_URL"];
if (!url) throw new Error("DATABASE_URL is not set. Example: postgres://localhost/examples");
const at = { url, schemas: [bookingsSchema] };
await migrate(at);
const database = await createDatabase(at);

// The fees of a school. For the ledger, the school is the lender, and a school year of a pupil is a case.
const [schoolId, yearId, INR, now] = [newId(), newId(), currency("INR"), new Date()];
const change = { lenderId: schoolId, caseId: yearId, currency: INR, effectiveAt: now, recordedAt: now };
await transaction(database.em(), async (tx) => {
  const accounts = [...bookings.lenderAccounts(schoolId, INR), ...bookings.caseAccounts(schoolId, yearId, INR)];
  bookings.openAccounts(tx, accounts, now);
  bookings.postTransfers(tx, bookings.placement({ ...change, sequence: 1n, amountMinor: 250_000n }));
  bookings.postTransfers(tx, bookings.adjustment({ ...change, sequence: 2n, changeMinor: -50_000n }));
});
await pay();
await pay().catch((error: unknown) => {
  if (!isUniqueViolation(error)) throw error;
  console.log("repeat: booked before");
});

const show = (minor: bigint): string => display(money(minor, INR), "en-IN").padStart(10);
const [account] = await bookings.statementOf(database.em(), { lenderId: schoolId, caseIds: [yearId] });
for (const { kind, debitMinor, creditMinor, balanceMinor } of account?.lines ?? []) {
  console.log(kind.padEnd(10), show(debitMinor - creditMinor), show(balanceMinor));
}
const { ok, counts } = await bookings.collectionsLedger.verify(database.em(), { book: schoolId });
console.log(`${counts.transfers} transfers: ${ok ? "the books are correct" : "something is wrong"}`);
const forgery = database.pool.query("update ledger.transfer set amount_minor = 1");
console.log("forged:", await forgery.catch((error: Error) => error.message));
await database.close();

function pay(): Promise<void> {
  const receipt = { pupil: "PUPIL-17", reference: "UTR402812345678", amountMinor: 120_000n };
  const payment = bookingOf({ ...change, sequence: 3n }, { ...receipt, owedMinor: 200_000n, collectedMinor: 0n });
  return transaction(database.em(), async (tx) => {
    bookings.bookPayments(tx, [payment]);
    bookings.postTransfers(tx, bookings.paymentPostings(payment));
  });
}
