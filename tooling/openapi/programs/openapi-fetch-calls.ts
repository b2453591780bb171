import { confirmPayment, createSignedClient } from "./openapi-fetch.js";

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
  done(await client.GET("/api/v1/partner/health"));
  const row = {
    sourceLoanNumber: loan,
    borrowerName: "Ravi Kumar",
    borrowerPhone: "+919800000001",
    outstandingAmount: 5000,
  };
  done(await client.POST("/api/v1/partner/cases", { params: { query: { atomic: "true" } }, body: { rows: [row] } }));
  done(await client.GET("/api/v1/partner/cases", { params: { query: { status: "new,in_progress" } } }));
  done(await client.GET("/api/v1/partner/cases/{loan}", { params: { path } }));
  await confirmPayment(client, loan, payment);
  await confirmPayment(client, loan, { ...payment, reference: "UTR1-rest", amount: 20, partOf: "UTR1" });
  const reversal = { reference: "UTR1", reversalReference: "RET1", reversedAt: minuteAgo, reason: "bounced" } as const;
  done(await client.POST("/api/v1/partner/cases/{loan}/payments/reverse", { params: { path }, body: reversal }));
  done(await client.GET("/api/v1/partner/payments", { params: { query: { loan } } }));

  const { paidAt, mode: _, ...paid } = payment;
  const body = { from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z", rows: [{ loan, ...paid, paidAt }] };
  const { runId } = done(await client.POST("/api/v1/partner/payments/reconcile", { body }));
  done(await client.GET("/api/v1/partner/payments/reconcile"));
  const run = { params: { path: { runId } } };
  done(await client.GET("/api/v1/partner/payments/reconcile/{runId}", run));

  const request = { method: "GET", path: "/api/v1/partner/health", timestamp: String(Date.now()), signature: "00" };
  done(await client.POST("/api/v1/partner/debug/signature", { body: { ...request, body: "" } }));
  done(await client.POST("/api/v1/partner/webhooks/test", { body: { kind: "ping" } }));
  done(await client.POST("/api/v1/partner/mint-link/test", { body: { loan, amount: 1 } }));
  done(await client.POST("/api/v1/partner/portal-links", { body: { name: "Ravi" } }));
  done(await client.POST("/api/v1/partner/sandbox/play", { body: { loan, scene: "reassignment" } }));
  const { deliveries } = done(await client.GET("/api/v1/partner/webhooks/deliveries", { params: { query: path } }));
  const event = { params: { path: { eventId: deliveries[0]!.eventId } } };
  done(await client.GET("/api/v1/partner/webhooks/deliveries/{eventId}", event));
  done(await client.POST("/api/v1/partner/webhooks/deliveries/{eventId}/replay", event));
  const replay = done(await client.POST("/api/v1/partner/webhooks/deliveries/replay", { body: { loan } }));
  const { replayId } = replay as Extract<typeof replay, { replayId: string }>;
  done(await client.GET("/api/v1/partner/webhooks/replays/{replayId}", { params: { path: { replayId } } }));
}

/** Provokes errors. Returns for each code a member of the error, which the compiler knows only for this code. */
async function tellErrorsApart(): Promise<Record<string, unknown>> {
  const confirm = "/api/v1/partner/cases/{loan}/payments/confirm";
  const stranger = createSignedClient(BASE_URL, API_KEY_ID, "sk_sandbox_0");
  const told: Record<string, unknown> = {};

  const { error: repeated } = await client.POST(confirm, { params: { path }, body: payment });
  if (repeated?.code === "DUPLICATE_CONFIRMATION") told[repeated.code] = repeated.original.reference;
  // @ts-expect-error -- a confirmation cannot answer with the code of another call
  if (repeated?.code === "REPLAY_NOT_FOUND") told["impossible"] = repeated;

  const { error: invalid } = await client.POST(confirm, {
    params: { path },
    body: { ...payment, reference: "UTR2", amount: 0 },
  });
  if (invalid?.code === "AMOUNT_OUT_OF_RANGE") told[invalid.code] = invalid.errors?.[0]?.pointer;

  const { error: unknown } = await client.GET("/api/v1/partner/cases/{loan}", { params: { path: { loan: "?/ü" } } });
  if (unknown?.code === "LOAN_NOT_FOUND") told[unknown.code] = unknown.status;

  const { error: forged } = await stranger.GET("/api/v1/partner/health");
  if (forged?.code === "BAD_SIGNATURE") told[forged.code] = forged.canonicalSha256.length;
  return told;
}

await makeEveryCall();
process.stdout.write(JSON.stringify(await tellErrorsApart()));
