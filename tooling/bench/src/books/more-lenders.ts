import { createCipheriv, createHash, randomBytes } from "node:crypto";
import type { Client } from "pg";
import type { LenderKey } from "./books.ts";
import { openClient } from "../server/open-client.ts";
import { MASTER_KEY } from "../server/service.ts";
import { timeOrderedId } from "./time-ordered-id.ts";

/**
 * Adds lenders by SQL as copies of the existing lender, because registering a thousand lenders one by one would take
 * half an hour. The API keys of the new lenders work: each secret is sealed as the service seals it.
 */
export async function addLenders(databaseUrl: string, count: number): Promise<LenderKey[]> {
  const client = await openClient(databaseUrl);
  const keys = Array.from({ length: count }, (_, index) => ({
    lenderId: timeOrderedId(Date.now()),
    lenderCode: `GROWN${index + 2}`,
    apiKeyId: `lk_${randomBytes(12).toString("hex")}`,
    hmacSecret: randomBytes(32).toString("hex"),
  }));
  await client.query("begin");
  for (const key of keys) await addLender(client, key);
  await client.query("commit");
  await client.end();
  return keys;
}

/**
 * How to copy a lender, table by table. Each entry names the table, the condition for the rows to copy, and the fields
 * that get new values in the copy.
 */
const COPIES = [
  [
    "lenders.lender",
    "id = $1::uuid",
    "jsonb_build_object('id', $2::uuid, 'code', $3::text, 'name', 'Lender ' || $3::text)",
  ],
  [
    "lenders.api_key",
    "lender_id = $1::uuid",
    "jsonb_build_object('lender_id', $2::uuid, 'id', $4::text, 'secret', $5::text, 'last_used_at', null)",
  ],
  ["webhooks.endpoint", "lender_id = $1::uuid", "jsonb_build_object('lender_id', $2::uuid, 'id', uuidv7())"],
  [
    "ledger.account",
    "lender_id = $1::uuid and kind in ('placed', 'settled_direct', 'commission_expense')",
    "jsonb_build_object('lender_id', $2::uuid, 'owner_id', $2::uuid, 'id', replace(id, $1::uuid::text, $2::uuid::text))",
  ],
  [
    "ledger.account",
    "lender_id = $1::uuid and kind in ('pending', 'credited', 'paid')",
    "jsonb_build_object('lender_id', $2::uuid)",
  ],
] as const;

async function addLender(client: Client, key: LenderKey & { lenderId: string }): Promise<void> {
  const { lenderId, lenderCode, apiKeyId, hmacSecret } = key;
  const { rows } = await client.query<{ id: string }>("select id from lenders.lender order by id limit 1");
  const secret = sealed(hmacSecret, `lenders.api_key.secret/${lenderId}/${apiKeyId}`);
  const values = [rows[0]!.id, lenderId, lenderCode, apiKeyId, secret];
  for (const [table, which, changes] of COPIES) {
    const used = values.filter((_, index) => `${which} ${changes}`.includes(`$${index + 1}`));
    const text = renumbered(`insert into ${table}
      select (jsonb_populate_record(null::${table}, to_jsonb(original) || ${changes})).* from ${table} original
      where ${which}`);
    await client.query(text, used);
  }
}

/** Renumbers the parameters without gaps, because PostgreSQL rejects a parameter that is not used. */
function renumbered(text: string): string {
  const numbers = [...new Set([...text.matchAll(/\$(\d)/g)].map(([, number]) => Number(number)))].toSorted(
    (a, b) => a - b,
  );
  return text.replaceAll(/\$(\d)/g, (_, number: string) => `$${numbers.indexOf(Number(number)) + 1}`);
}

function sealed(plain: string, context: string): string {
  const key = Buffer.from(MASTER_KEY, "hex");
  const id = createHash("sha256").update(key).digest("hex").slice(0, 8);
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(context));
  const ciphertext = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return `v1:${id}:${Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString("base64")}`;
}
