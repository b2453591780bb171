import { confirmPayment, createSignedClient } from "./hey-api.js";
import * as api from "./collections-api/index.js";

const { BASE_URL = "", API_KEY_ID = "", HMAC_SECRET = "", LOAN: loan = "" } = process.env;
const client = createSignedClient(BASE_URL, API_KEY_ID, HMAC_SECRET);
const minuteAgo = new Date(Date.now() - 60_000).toISOString();
const payment = { reference: "UTR1", amount: 1200.5, mode: "upi", paidAt: minuteAgo };
const path = { loan };

/** Returns the data of an answer of 2xx, and fails with the problem of any other answer. */
function done<Data>({ data, error }: { data?: Data; error?: { code: string; detail: string } }): Data {
  if (data === undefined) throw new Error(error ? `${error.code}: ${error.detail}` : "The answer has no body.");
  return data;
}

/** Makes each call of the API once, in an order in which all of them succeed. */
async function makeEveryCall(): Promise<void> {
  done(await api.getHealth({ client }));
  const row = {
    sourceLoanNumber: loan,
    borrowerName: "Ravi Kumar",
    borrowerPhone: "+919800000001",
    outstandingAmount: 5000,
  };
  done(await api.importCases({ client, query: { atomic: "true" }, body: { rows: [row] } }));
  done(await api.listCases({ client, query: { status: "new,in_progress" } }));
  done(await api.getCase({ client, path }));
  await confirmPayment(client, loan, payment);
  await confirmPayment(client, loan, { ...payment, reference: "UTR1-rest", amount: 20, partOf: "UTR1" });
  const reversal = { reference: "UTR1", reversalReference: "RET1", reversedAt: minuteAgo, reason: "bounced" } as const;
  done(await api.reversePayment({ client, path, body: reversal }));
  done(await api.listPayments({ client, query: { loan } }));

  const { paidAt, mode: _, ...paid } = payment;
  const body = { from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z", rows: [{ loan, ...paid, paidAt }] };
  const { runId } = done(await api.reconcilePayments({ client, body }));
  done(await api.listReconciliations({ client }));
  done(await api.getReconciliation({ client, path: { runId } }));

  const request = { method: "GET", path: "/api/v1/partner/health", timestamp: String(Date.now()), signature: "00" };
  done(await api.debugSignature({ client, body: { ...request, body: "" } }));
  done(await api.testWebhook({ client, body: { kind: "ping" } }));
  done(await api.testMintLink({ client, body: { loan, amount: 1 } }));
  done(await api.createPortalLink({ client, body: { name: "Ravi" } }));
  done(await api.playSandbox({ client, body: { loan, scene: "reassignment" } }));
  const { deliveries } = done(await api.listDeliveries({ client, query: path }));
  const event = { eventId: deliveries[0]!.eventId };
  done(await api.getDelivery({ client, path: event }));
  done(await api.replayDelivery({ client, path: event }));
  const replay = done(await api.replayDeliveries({ client, body: { loan } }));
  const { replayId } = replay as Extract<typeof replay, { replayId: string }>;
  done(await api.getReplay({ client, path: { replayId } }));
}

/** Provokes errors. Returns for each code a member of the error, which the compiler knows only for this code. */
async function tellErrorsApart(): Promise<Record<string, unknown>> {
  const stranger = createSignedClient(BASE_URL, API_KEY_ID, "sk_sandbox_0");
  const told: Record<string, unknown> = {};

  const { error: repeated } = await api.confirmPayment({ client, path, body: payment });
  if (repeated?.code === "DUPLICATE_CONFIRMATION") told[repeated.code] = repeated.original.reference;
  // @ts-expect-error -- a confirmation cannot answer with the code of another call
  if (repeated?.code === "REPLAY_NOT_FOUND") told["impossible"] = repeated;

  const { error: invalid } = await api.confirmPayment({
    client,
    path,
    body: { ...payment, reference: "UTR2", amount: 0 },
  });
  if (invalid?.code === "AMOUNT_OUT_OF_RANGE") told[invalid.code] = invalid.errors?.[0]?.pointer;

  const { error: unknown } = await api.getCase({ client, path: { loan: "?/ü" } });
  if (unknown?.code === "LOAN_NOT_FOUND") told[unknown.code] = unknown.status;

  const { error: forged } = await api.getHealth({ client: stranger });
  if (forged?.code === "BAD_SIGNATURE") told[forged.code] = forged.canonicalSha256.length;
  return told;
}

await makeEveryCall();
process.stdout.write(JSON.stringify(await tellErrorsApart()));
