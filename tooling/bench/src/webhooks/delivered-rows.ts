import { Client } from "pg";

const ROWS_AT_A_TIME = 100_000;
const LOANS = 10_000;

/** Opens a database whose statistics change only by an explicit `analyze`. */
export async function openDeliveries(databaseUrl: string): Promise<Client> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("alter table webhooks.delivery set (autovacuum_enabled = false)");
  return client;
}

/** Adds waiting events of this many loans. */
export async function addWaiting(
  client: Client,
  lenderId: string,
  { events, loans }: { events: number; loans: number },
): Promise<void> {
  await add(client, lenderId, { rows: events, loans, state: "waiting" });
}

/** Whether every event has been delivered. */
export async function nothingWaits(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ waits: boolean }>(
    "select exists (select from webhooks.delivery where state <> 'delivered') as waits",
  );
  return rows[0]?.waits === false;
}

/** Adds delivered events, a few per loan. */
export async function addDelivered(client: Client, lenderId: string, rows: number): Promise<void> {
  for (let left = rows; left > 0; left -= ROWS_AT_A_TIME) {
    await add(client, lenderId, { rows: Math.min(left, ROWS_AT_A_TIME), loans: LOANS, state: "delivered" });
  }
}

interface Rows {
  readonly rows: number;
  readonly loans: number;
  readonly state: "waiting" | "delivered";
}

async function add(client: Client, lenderId: string, { rows, loans, state }: Rows): Promise<void> {
  await client.query(
    `with made as materialized (
       select uuidv7() as id, 'LOAN-' || n % $3 as loan, n / $3 + 1 as sequence, n from generate_series(1, $2::integer) n
     ), event as (
       insert into webhooks.event (lender_id, id, kind, source_loan_number, sequence, body, occurred_at)
       select $1, id, 'payment.collected', loan, sequence, '{}', now() from made
     )
     insert into webhooks.delivery (lender_id, id, endpoint_id, loan, sequence, kind, state, attempts, settled_at)
     select $1, made.id, e.id, loan, sequence, 'payment.collected', $4::text,
       case $4 when 'waiting' then 0 else 1 end, case $4 when 'waiting' then null else now() end
     from made join webhooks.endpoint e on e.lender_id = $1`,
    [lenderId, rows, loans, state],
  );
}
