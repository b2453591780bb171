import { createHash } from "node:crypto";
import { query, statement, type Tx } from "@collections/database";
import { statementName } from "../tables/statement-name.ts";
import type { ChartPosting, PostingKey } from "./chart.ts";
import { invalidPosting } from "./posting-input.ts";

/** Remembers the keys of `postOnce` in a schema. */
export interface PostingKeys {
  /**
   * Claims a key for transfers with these ids, or returns the ids of the transfers that were posted under the key. Waits for
   * a concurrent transaction with the same key.
   * @throws InvalidPostingError (KEY_REUSED) if the key was used for other postings
   */
  claim(
    tx: Tx,
    key: PostingKey,
    postings: readonly ChartPosting[],
    ids: readonly string[],
  ): Promise<{ readonly isNew: boolean; readonly ids: string[] }>;
}

/** Builds the SQL of the keys in a schema. */
export function postingKeys(schema: string): PostingKeys {
  const insertKey = statement(
    statementName(schema, "claim-posting-key"),
    `insert into ${schema}.posting_key (lender_id, key, content_hash, transfer_ids, recorded_at)
     values ($1, $2, $3, $4::uuid[], $5) on conflict do nothing returning true as "isNew"`,
  );
  const selectKey = statement(
    statementName(schema, "posting-key"),
    `select content_hash as "contentHash", transfer_ids as ids from ${schema}.posting_key where lender_id = $1 and key = $2`,
  );
  return {
    async claim(tx, { book, key }, postings, ids) {
      const contentHash = hashOf(postings);
      const [claimed] = await query<{ isNew: true }>(tx, insertKey, [book, key, contentHash, ids, new Date()]);
      if (claimed) return { isNew: true, ids: [...ids] };
      const [known] = await query<{ contentHash: Buffer; ids: string[] }>(tx, selectKey, [book, key]);
      if (known?.contentHash.equals(contentHash) === true) return { isNew: false, ids: known.ids };
      const message = `The key ${JSON.stringify(key)} was used for other postings in the book ${book}; use a key for one request only.`;
      throw invalidPosting("KEY_REUSED", 0, message);
    },
  };
}

/** The default of `effectiveAt` is the time of the call, so it is no part of the content. */
function hashOf(postings: readonly ChartPosting[]): Buffer {
  const content = postings.map(({ kind, debit, credit, amountMinor, subject, memo = "", metadata, effectiveAt }) => [
    kind,
    debit,
    credit,
    String(amountMinor),
    subject?.toLowerCase() ?? null,
    memo,
    effectiveAt?.toISOString() ?? null,
    // Keys that were claimed before postings had metadata keep their hash.
    ...(metadata ? [inOrder(JSON.parse(JSON.stringify(metadata)))] : []),
  ]);
  return createHash("sha256").update(JSON.stringify(content)).digest();
}

/** The same JSON in the order of its names, because a repeat may name its fields in another order. */
function inOrder(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(inOrder);
  if (typeof json !== "object" || json === null) return json;
  return Object.entries(json)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, inOrder(value)]);
}
