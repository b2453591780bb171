import {
  CollectionsClient,
  createReceiver,
  expressHandler,
  isEvent,
  postgresStorage,
  verifyRequest,
} from "@collections/lender-sdk";
import express from "express";
import { Pool } from "pg";

const { BASE_URL, API_KEY_ID, HMAC_SECRET, DATABASE_URL, PORT = "4000" } = process.env;
const secrets = { [API_KEY_ID]: HMAC_SECRET }; // two entries during a key change

const receiver = createReceiver({
  secrets,
  storage: postgresStorage(new Pool({ connectionString: DATABASE_URL })),
  client: new CollectionsClient({ baseUrl: BASE_URL, apiKeyId: API_KEY_ID, hmacSecret: HMAC_SECRET }),
  async apply({ state, event }, tx) {
    await tx.query(
      `INSERT INTO loan (number, status, owed, collected) VALUES ($1, $2, $3, $4) ON CONFLICT (number)
       DO UPDATE SET status = excluded.status, owed = excluded.owed, collected = excluded.collected`,
      [state.sourceLoanNumber, state.status, state.outstandingAfter, state.totalCollected],
    );
    if (isEvent(event, "payment.collected")) {
      await tx.query("INSERT INTO mail_to_send (loan, text) VALUES ($1, $2)", [
        state.sourceLoanNumber,
        `We have received your payment of ${event.data.amount} ${state.currency}.`,
      ]);
    }
    if (isEvent(event, "payment.reversed")) {
      await tx.query("INSERT INTO mail_to_send (loan, text) VALUES ($1, $2)", [
        state.sourceLoanNumber,
        `Your payment of ${event.data.amount} ${state.currency} was returned.`,
      ]);
    }
  },
  onReceived: ({ kind, outcome }) => console.log(`${kind}: ${outcome}`),
});

const app = express();
app.post("/hooks/collections", expressHandler(receiver)); // before any body parser

app.post("/mint-link", express.raw({ type: () => true }), mintLink);
app.use(express.json());
const server = app.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});

/** Mint calls are signed like webhooks. */
async function mintLink(request, response) {
  const { method, originalUrl: path, headers, body } = request;
  const verdict = await verifyRequest({ method, path, headers, body }, secrets);
  if (!verdict.ok) return response.status(401).json({ success: false, error: verdict.detail });
  const linkId = `plink_${headers["idempotency-key"]}`; // in production: your gateway's id, always the same for the same key
  response.json({ success: true, link: { linkId, url: `https://pay.acme.example/l/${linkId}` } });
}
