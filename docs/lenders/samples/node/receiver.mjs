import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { sign, verify } from "./signing.mjs";

const { BASE_URL, API_KEY_ID, HMAC_SECRETS, DATABASE = "receiver.db", PORT = "4000" } = process.env;
const secrets = new Map(Object.entries(JSON.parse(HMAC_SECRETS))); // {"lk_…": "sk_…"}: two keys during a key change
const CALLBACK_PATH = "/hooks/collections"; // of the URL that you registered
const AGAIN_AFTER_MS = 5_000;

const database = new DatabaseSync(DATABASE);
database.exec(`
  CREATE TABLE IF NOT EXISTS inbox (event_id TEXT PRIMARY KEY, body TEXT NOT NULL, applied INT NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS loan (number TEXT PRIMARY KEY, sequence INT, status TEXT, owed DECIMAL, collected DECIMAL);
`);
const store = database.prepare("INSERT INTO inbox (event_id, body) VALUES (?, ?) ON CONFLICT DO NOTHING");
const notApplied = database.prepare("SELECT event_id, body FROM inbox WHERE applied = 0 ORDER BY rowid");
const setApplied = database.prepare("UPDATE inbox SET applied = 1 WHERE event_id = ?");
const loanOf = database.prepare("SELECT sequence FROM loan WHERE number = ?");
const setLoan = database.prepare("INSERT OR REPLACE INTO loan VALUES (?, ?, ?, ?, ?)");

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    (error) => {
      console.error(error);
      response.writeHead(500).end(); // not stored: the service sends the event again
    },
  );
});
server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
  wake(); // an earlier run may have stored events that it did not apply
});

async function receive(request) {
  const body = Buffer.concat(await request.toArray());
  const {
    "x-service-key-id": keyId,
    "x-service-timestamp": timestamp,
    "x-service-signature": signature,
  } = request.headers;

  // 1. Verify the received bytes before you parse them.
  const secret = secrets.get(keyId);
  if (!secret || !verify(secret, request.method, CALLBACK_PATH, timestamp, body, signature)) return 401;

  // 2. Dedupe: an event that is already stored changes nothing. Answer first, work afterwards.
  store.run(JSON.parse(body).eventId, body.toString());
  setImmediate(wake);
  return 200;
}

let working = Promise.resolve();
let again;

/** Applies the stored events, one pass at a time. */
function wake() {
  working = working.then(work);
}

async function work() {
  for (const { event_id: eventId, body } of notApplied.all()) {
    try {
      await apply(JSON.parse(body));
      setApplied.run(eventId);
    } catch (error) {
      console.error(eventId, "has to wait:", error.message);
      clearTimeout(again);
      again = setTimeout(wake, AGAIN_AFTER_MS);
    }
  }
}

async function apply(event) {
  const { sourceLoanNumber: loan, sequence } = event;
  if (loan === null) return; // a ping
  const held = loanOf.get(loan)?.sequence ?? 0;

  // 3. Order: skip an event that is older than the loan's stored state.
  if (sequence <= held) return;

  // 4. A gap: events in between have not arrived yet. Read the current state of the case instead.
  const state = sequence === held + 1 ? event : await readCase(loan);

  // 5. Apply: store the absolute values.
  setLoan.run(loan, state.sequence, state.status, state.outstandingAfter, state.totalCollected);
  console.log(`${loan} #${state.sequence} ${state.status}, owes ${state.outstandingAfter}`);
}

async function readCase(loan) {
  const url = new URL(`${BASE_URL}/api/v1/partner/cases/${encodeURIComponent(loan)}`);
  const timestamp = String(Date.now());
  const headers = {
    Authorization: `Bearer ${API_KEY_ID}`,
    "X-Service-Timestamp": timestamp,
    "X-Service-Signature": sign(secrets.get(API_KEY_ID), "GET", url.pathname, timestamp, ""),
  };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new Error(`${url.pathname} answered ${response.status}.`);
  return response.json();
}
