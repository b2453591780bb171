import { CollectionsClient, ReversalConflictError } from "@collections/lender-sdk";

const client = new CollectionsClient({
  baseUrl: process.env.BASE_URL,
  apiKeyId: process.env.API_KEY_ID,
  hmacSecret: process.env.HMAC_SECRET,
});

const returned = {
  reference: "pay_Nx81", // of the payment
  reversalReference: "rev_5521", // your id of the reversal
  reversedAt: "2026-11-20T18:30:00Z",
  reason: "bank_reversed",
};
const reversal = await client.reversePayment("LN-1001", returned);
console.log(`${reversal.amount} is returned: ${reversal.status}, owes ${reversal.outstandingAfter}`);

// If the process dies before it has stored the answer, it calls again.
const again = await client.reversePayment("LN-1001", returned);
console.log(`owes ${again.outstandingAfter}, repeated: ${again.repeated}`);

try {
  await client.reversePayment("LN-1001", { ...returned, reason: "chargeback" });
} catch (error) {
  if (!(error instanceof ReversalConflictError)) throw error;
  console.log(`not recorded: ${error.original.reversalReference} has another ${error.differences.join(", ")}`);
}
