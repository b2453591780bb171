import { CollectionsClient, minorUnits } from "@collections/lender-sdk";

const client = new CollectionsClient({
  baseUrl: process.env.BASE_URL,
  apiKeyId: process.env.API_KEY_ID,
  hmacSecret: process.env.HMAC_SECRET,
});

// In production: the payments of your gateway's settlement file, or of your loan system.
const ours = [
  { loan: "LN-1001", reference: "pay_Nx81", amount: "2500.05" },
  { loan: "LN-1001", reference: "pay_Nx82", amount: "300.00" },
];

// The day of 20 November in India.
const day = { from: "2026-11-20T00:00:00+05:30", to: "2026-11-21T00:00:00+05:30" };
const open = new Map(ours.map((payment) => [keyOf(payment.loan, payment.reference), payment]));
for await (const { sourceLoanNumber, reference, amount } of client.payments(day)) {
  const key = keyOf(sourceLoanNumber, reference);
  const own = open.get(key);
  open.delete(key);
  if (!own) console.log(`${key}: ${amount} is booked, but not in our books`);
  else if (minorUnits(own.amount, 2) !== minorUnits(amount, 2)) console.log(`${key}: ${amount}, not ${own.amount}`);
}
for (const [key, { amount }] of open) console.log(`${key}: ${amount} is not booked; confirm it`);

let outstanding = 0n;
for await (const { outstandingAfter } of client.cases({ status: ["new", "assigned", "in_progress"] })) {
  outstanding += minorUnits(outstandingAfter, 2);
}
console.log(`outstanding: ${outstanding} paise`);

function keyOf(loan, reference) {
  return `${loan} ${reference}`;
}
