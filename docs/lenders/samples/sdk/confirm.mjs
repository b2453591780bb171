import { CollectionsClient, ReferenceConflictError } from "@collections/lender-sdk";

const client = new CollectionsClient({
  baseUrl: process.env.BASE_URL,
  apiKeyId: process.env.API_KEY_ID,
  hmacSecret: process.env.HMAC_SECRET,
  onWarning: ({ code, detail }) => console.log(`warning ${code}: ${detail}`),
  onRetry: ({ path, attempt, error }) => console.log(`${path}: attempt ${attempt}: ${error.message}`),
});

const { lenderCode } = await client.health();
console.log(`signed in as ${lenderCode}`);

const { results } = await client.importCases([
  {
    sourceLoanNumber: "LN-1001",
    borrowerName: "Ravi Kumar",
    borrowerPhone: "+919800000001",
    outstandingAmount: "5000.10",
    emiAmmount: "1250.00", // a typing mistake, on purpose
  },
]);
for (const { sourceLoanNumber, outcome } of results) console.log(`${sourceLoanNumber} is ${outcome}`);

const payment = { amount: "2500.05", reference: "pay_Nx81", paidAt: "2026-11-20T09:40:55Z", mode: "upi" };
const booking = await client.confirmPayment("LN-1001", payment);
console.log(`${booking.status}, owes ${booking.outstandingAfter}`);

// If the process dies before it has stored the answer, it calls again.
const again = await client.confirmPayment("LN-1001", payment);
console.log(`owes ${again.outstandingAfter}, repeated: ${again.repeated}`);

try {
  await client.confirmPayment("LN-1001", { ...payment, amount: "1200.00" });
} catch (error) {
  if (!(error instanceof ReferenceConflictError)) throw error;
  console.log(`not booked: ${error.original.reference} has another ${error.differences.join(", ")}`);
}
