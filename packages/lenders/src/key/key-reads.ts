import { query, statement } from "@collections/database";
import { type EntityManager, tableOf } from "@collections/entities";
import DataLoader from "dataloader";
import { type LenderProfile, profileColumns } from "../lender/lender.ts";
import { ApiKeyEntity, type ApiKeyState } from "../schema.ts";

const MAX_BATCH_SIZE = 200;
/** The maximum number of a lender's API keys that the signature debugger tries. */
const MAX_SECRETS_OF_LENDER = 10;

/** An API key and its lender. */
export interface KeyRow extends LenderProfile {
  readonly keyId: string;
  readonly keyState: ApiKeyState;
  readonly retiresAt: Date | null;
  readonly debugUntil: Date | null;
  readonly secret: string;
}

/** The sealed secret of an API key. */
export interface SecretRow {
  readonly keyId: string;
  readonly lenderId: string;
  readonly secret: string;
}

/** Reads API keys from the database. */
export interface KeyReads {
  /** Returns the API key with this id, or undefined if there is none. */
  key(keyId: string): Promise<KeyRow | undefined>;
  /** Returns the API keys that may sign requests to the lender, in order of preference. */
  signingKeys(lenderId: string): Promise<readonly SecretRow[]>;
}

const KEY_AND_LENDER = `select k.id as "keyId", k.state as "keyState",
     ${tableOf(ApiKeyEntity).selectList("k", ["retiresAt", "debugUntil", "secret"])}, ${profileColumns}
   from lenders.api_key k join lenders.lender l on l.id = k.lender_id`;

const keysById = statement("lenders.keys-by-id", `${KEY_AND_LENDER} where k.id = any ($1::text[])`);

const keyOfLender = statement("lenders.key-of-lender", `${KEY_AND_LENDER} where k.lender_id = $1 and k.id = $2`);

const SIGNING_KEYS = `select lender_id as "lenderId", id as "keyId", secret from lenders.api_key`;
const MAY_SIGN = `state <> 'revoked' and (retires_at is null or retires_at > $2)`;
const BEST_SIGNER_FIRST = `signing desc, state = 'active' desc, last_used_at is not null desc, created_at desc, id desc`;

const signingKeysOfLenders = statement(
  "lenders.signing-keys",
  `${SIGNING_KEYS} where lender_id = any ($1::uuid[]) and ${MAY_SIGN} order by lender_id, ${BEST_SIGNER_FIRST}`,
);

const signingKeysOfLender = statement(
  "lenders.signing-keys-of-lender",
  `${SIGNING_KEYS} where lender_id = $1 and ${MAY_SIGN} order by ${BEST_SIGNER_FIRST}`,
);

const secretsOfLender = statement(
  "lenders.secrets-of-lender",
  `select id as "keyId", lender_id as "lenderId", secret from lenders.api_key where lender_id = $1
   order by id = $2 desc, created_at desc, id desc
   limit $3`,
);

const lendersOfKeys = statement(
  "lenders.lenders-of-keys",
  `select key_id as "keyId", lender_id as "lenderId" from lenders.lender_of_key where key_id = any ($1::text[])`,
);

/**
 * Returns `KeyReads` for a database on one server. One query reads all API keys requested in one turn of the event
 * loop.
 */
export function readsOfOneServer(em: () => EntityManager, now: () => Date): KeyReads {
  const keys = batchedReads(
    (ids) => query<KeyRow>(em(), keysById, [ids]),
    ({ keyId }) => keyId,
  );
  const signingKeys = batchedReads(
    (ids) => query<SecretRow>(em(), signingKeysOfLenders, [ids, now()]),
    ({ lenderId }) => lenderId,
  );
  return {
    key: async (keyId) => (await keys.load(keyId))[0],
    signingKeys: (lenderId) => signingKeys.load(lenderId),
  };
}

/**
 * Returns `KeyReads` for a cluster. Each lender's API keys are read by a query of their own, on the node that has the
 * lender's rows. So an unavailable node fails only the reads of its own lenders. The lender of a key is read from the
 * coordinator's copy of `lenders.lender_of_key`.
 */
export function readsOfCluster(em: () => EntityManager, now: () => Date): KeyReads {
  const owners = batchedReads(
    (keyIds) => query<{ keyId: string; lenderId: string }>(em(), lendersOfKeys, [keyIds]),
    ({ keyId }) => keyId,
  );
  return {
    async key(keyId) {
      const [owner] = await owners.load(keyId);
      if (!owner) return undefined;
      const [row] = await query<KeyRow>(em(), keyOfLender, [owner.lenderId, keyId]);
      return row;
    },
    signingKeys: (lenderId) => query<SecretRow>(em(), signingKeysOfLender, [lenderId, now()]),
  };
}

/** Returns the API key's own secret first, and then the secrets of its lender's other keys, newest first. */
export function readSecretsOfLender(em: EntityManager, key: { lenderId: string; keyId: string }): Promise<SecretRow[]> {
  return query<SecretRow>(em, secretsOfLender, [key.lenderId, key.keyId, MAX_SECRETS_OF_LENDER]);
}

/** Returns the lender of an API key from `lenders.lender_of_key`, or undefined if the table has no such key. */
export async function readLenderOfKey(em: EntityManager, keyId: string): Promise<string | undefined> {
  const [owner] = await query<{ lenderId: string }>(em, lendersOfKeys, [[keyId]]);
  return owner?.lenderId;
}

/**
 * Returns a loader that reads all ids requested in one turn of the event loop with one query instead of one query per
 * id.
 */
function batchedReads<Row>(read: (ids: readonly string[]) => Promise<Row[]>, idOf: (row: Row) => string) {
  return new DataLoader<string, readonly Row[]>(
    async (ids) => {
      const rows = Map.groupBy(await read(ids), idOf);
      return ids.map((id) => rows.get(id.toLowerCase()) ?? []);
    },
    { cache: false, maxBatchSize: MAX_BATCH_SIZE, batchScheduleFn: setImmediate },
  );
}
