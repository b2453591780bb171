import type { EntityManager, Tx } from "@collections/entities";
import { checkReason, recordAct } from "../lender/audit.ts";
import { newApiKeyId, newHmacSecret } from "./key-format.ts";
import { readLenderOfKey } from "./key-reads.ts";
import { ApiKeyNotUsableError, InvalidLenderError } from "../lender/lender-fault.ts";
import { lockLender } from "../lender/lender.ts";
import { ApiKeyEntity, type ApiKeyRow, type ApiKeyState, LenderOfKeyEntity } from "../schema.ts";
import { apiKeySecretContext } from "../secret/sealed-context.ts";
import type { Vault } from "../secret/vault.ts";

/** An API key without its secret. After its retirement date, the state of a `retiring` key is `revoked`. */
export interface ApiKey {
  readonly id: string;
  readonly state: ApiKeyState;
  readonly retiresAt: Date | null;
  /** Whether this API key signs the service's requests to the lender. */
  readonly signing: boolean;
  readonly createdAt: Date;
  /** When the API key was last used. The recorded time may be up to a minute before the actual last use. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** In environments where the signature debugger is closed by default, it is open for this API key until this time. */
  readonly debugUntil: Date | null;
}

/**
 * A new API key and its secret. Show the secret to the lender now: it is stored only encrypted and cannot be shown
 * later.
 */
export interface IssuedKey {
  readonly apiKeyId: string;
  readonly hmacSecret: string;
}

/** Returns the state of an API key at `now`. A retiring key is revoked from its retirement date on. */
export function stateAt(key: { state: ApiKeyState; retiresAt: Date | null }, now: Date): ApiKeyState {
  const isOver = key.state === "retiring" && key.retiresAt !== null && key.retiresAt <= now;
  return isOver ? "revoked" : key.state;
}

/**
 * Returns the API key that signs requests to the lender at `now`. `keys` are the lender's API keys, sorted oldest
 * first. The order of preference is: the key marked as signing; active before retiring keys; keys that the lender has
 * used before unused ones; newer before older keys. `BEST_SIGNER_FIRST` in key-reads.ts is the same rule in SQL, for
 * the hot path.
 */
function signingKeyAt(keys: readonly ApiKeyRow[], now: Date): ApiKeyRow | undefined {
  const usable = keys.filter((key) => stateAt(key, now) !== "revoked").reverse();
  const staying = usable.filter(({ state }) => state === "active");
  const isUsed = ({ lastUsedAt }: ApiKeyRow) => lastUsedAt !== null;
  return (
    usable.find(({ signing }) => signing) ?? staying.find(isUsed) ?? staying[0] ?? usable.find(isUsed) ?? usable[0]
  );
}

/**
 * Returns all API keys of a lender, oldest first.
 *
 * @example
 * const keys = await keysOf(em, lenderId);
 * const signing = keys.find((key) => key.signing);
 */
export async function keysOf(em: EntityManager, lenderId: string, now: Date = new Date()): Promise<ApiKey[]> {
  const rows = await em.find(ApiKeyEntity, { lenderId }, { orderBy: { createdAt: "asc", id: "asc" } });
  const signing = signingKeyAt(rows, now);
  return rows.map((row) => ({
    id: row.id,
    state: stateAt(row, now),
    retiresAt: row.retiresAt,
    signing: row === signing,
    createdAt: row.createdAt,
    lastUsedAt: row.lastUsedAt,
    revokedAt: row.revokedAt,
    debugUntil: row.debugUntil,
  }));
}

/**
 * Returns the id of the lender that an API key belongs to, whatever the state of the key, or undefined if there is no
 * such key.
 *
 * @example
 * const lenderId = await lenderOfKey(em, "lk_4f1c09d7a2b84e63905b7d1e");
 */
export async function lenderOfKey(em: EntityManager, keyId: string): Promise<string | undefined> {
  const lenderId = await readLenderOfKey(em, keyId);
  if (lenderId !== undefined) return lenderId;
  // A process of an older version may have created the API key without a row in lenders.lender_of_key.
  const row = await em.findOne(ApiKeyEntity, { id: keyId });
  return row?.lenderId;
}

/**
 * Creates another API key for a lender. The new key becomes the signing key when it is first used or when
 * `setSigningKey` chooses it. It becomes the signing key at once if no other key of the lender signs. Throws
 * LenderNotFoundError.
 *
 * @example
 * const { apiKeyId, hmacSecret } = await createKey(tx, vault, { lenderId, environment: "live" });
 */
export async function createKey(
  tx: Tx,
  vault: Vault,
  key: { lenderId: string; environment: string },
  now: Date = new Date(),
): Promise<IssuedKey> {
  const { lenderId, environment } = key;
  await lockLender(tx, lenderId);
  const isFirst = !(await keepSigningKey(tx, lenderId, now));
  const [apiKeyId, hmacSecret] = [newApiKeyId(), newHmacSecret(environment)];
  tx.create(ApiKeyEntity, {
    lenderId,
    id: apiKeyId,
    secret: vault.seal(hmacSecret, apiKeySecretContext(lenderId, apiKeyId)),
    state: "active",
    retiresAt: null,
    signing: isFirst,
    createdAt: now,
    lastUsedAt: null,
    revokedAt: null,
    debugUntil: null,
  });
  tx.create(LenderOfKeyEntity, { keyId: apiKeyId, lenderId });
  recordAct(tx, { lenderId, act: "key.created", data: { keyId: apiKeyId } }, now);
  await tx.flush();
  return { apiKeyId, hmacSecret };
}

/**
 * Retires an API key: it is valid until `on`. If it is the signing key, it signs until then. If the lender has no other
 * key that is valid after `on`, the key is retired only with `evenIfLast`. Throws InvalidLenderError,
 * ApiKeyNotUsableError, LenderNotFoundError.
 *
 * @example
 * const on = new Date(now.getTime() + 7 * 24 * 60 * 60_000);
 * await retireKey(tx, { lenderId, keyId, on, reason: "Yearly change of keys" });
 */
export async function retireKey(
  tx: Tx,
  key: { lenderId: string; keyId: string; on: Date; reason: string; evenIfLast?: boolean },
  now: Date = new Date(),
): Promise<void> {
  const { lenderId, keyId, on, reason, evenIfLast } = key;
  checkReason(reason);
  if (!(on > now)) {
    const detail = "Expected a time in the future. To end a key now, revoke it.";
    throw new InvalidLenderError([{ code: "INVALID_DATE", field: "on", detail }]);
  }
  const { chosen, others } = await lockKeys(tx, lenderId, keyId);
  if (stateAt(chosen, now) === "revoked") throw revokedKeyError(keyId);
  if (!evenIfLast && !others.some((other) => stateAt(other, on) !== "revoked")) throw lastKeyError(keyId);
  Object.assign(chosen, { state: "retiring", retiresAt: on });
  recordAct(tx, { lenderId, act: "key.retiring", reason, data: { keyId, on: on.toISOString() } }, now);
}

/**
 * Revokes an API key: within a second every process rejects it. If it was the signing key, another key signs from now
 * on. The last valid key is revoked only with `evenIfLast`. Revoking a revoked key does nothing. Throws
 * InvalidLenderError, ApiKeyNotUsableError, LenderNotFoundError.
 *
 * @example
 * await transaction(em, (tx) => revokeKey(tx, { lenderId, keyId, reason: "The secret was in a public repository" }));
 */
export async function revokeKey(
  tx: Tx,
  key: { lenderId: string; keyId: string; reason: string; evenIfLast?: boolean },
  now: Date = new Date(),
): Promise<void> {
  const { lenderId, keyId, reason, evenIfLast } = key;
  checkReason(reason);
  const { chosen, others } = await lockKeys(tx, lenderId, keyId);
  if (chosen.state === "revoked") return;
  const nextSigningKey = signingKeyAt(others, now);
  if (!evenIfLast && !nextSigningKey && stateAt(chosen, now) !== "revoked") throw lastKeyError(keyId);
  const wasSigning = chosen.signing;
  Object.assign(chosen, { state: "revoked", revokedAt: now, signing: false });
  recordAct(tx, { lenderId, act: "key.revoked", reason, data: { keyId } }, now);
  if (wasSigning && nextSigningKey) await moveSigning(tx, nextSigningKey, others, `${keyId} was revoked`, now);
}

/**
 * Makes an active API key the signing key, which signs webhooks and mint calls. Throws ApiKeyNotUsableError,
 * LenderNotFoundError.
 *
 * @example
 * await setSigningKey(tx, { lenderId, keyId, reason: "Acme has the new secret" });
 */
export async function setSigningKey(
  tx: Tx,
  key: { lenderId: string; keyId: string; reason?: string },
  now: Date = new Date(),
): Promise<void> {
  const { lenderId, keyId, reason } = key;
  const { chosen, others } = await lockKeys(tx, lenderId, keyId);
  if (stateAt(chosen, now) === "revoked") throw revokedKeyError(keyId);
  if (chosen.state === "retiring") {
    throw new ApiKeyNotUsableError("API_KEY_RETIRED", keyId, `The key ${keyId} is retiring; choose an active key.`);
  }
  await moveSigning(tx, chosen, others, reason, now);
}

/**
 * Records that an API key was used at `at`. The first use of a key proves that the lender has its secret. If the key is
 * newer than the current signing key, its first use therefore makes it the signing key. If two keys have their first
 * use concurrently, the newer key signs, whichever use is recorded first. Call this function outside the request, and
 * at most once a minute per key (see `createKeyUses`).
 *
 * @example
 * await transaction(em, (tx) => recordKeyUse(tx, { lenderId, keyId, at: now }));
 */
export async function recordKeyUse(tx: Tx, use: { lenderId: string; keyId: string; at: Date }): Promise<void> {
  const { lenderId, keyId, at } = use;
  const { chosen, others, newer } = await lockKeys(tx, lenderId, keyId);
  const { lastUsedAt } = chosen;
  if (lastUsedAt === null || lastUsedAt < at) chosen.lastUsedAt = at;
  const isFirst = lastUsedAt === null && stateAt(chosen, at) === "active";
  if (isFirst && !newer.some(({ signing }) => signing)) await moveSigning(tx, chosen, others, "first use", at);
}

/**
 * If the retirement date of the signing key has passed, marks another key as the signing key: the key that
 * `signingKeyAt` chooses. Without this mark, a key that is created now would sign at once, before its lender has the
 * secret. Returns whether any key signs.
 */
async function keepSigningKey(tx: Tx, lenderId: string, now: Date): Promise<boolean> {
  const keys = await tx.find(ApiKeyEntity, { lenderId }, { orderBy: { createdAt: "asc", id: "asc" }, refresh: true });
  const signing = signingKeyAt(keys, now);
  if (signing) await moveSigning(tx, signing, keys, "the previous signing key is no longer valid", now);
  else for (const key of keys) key.signing = false;
  await tx.flush();
  return signing !== undefined;
}

async function moveSigning(
  tx: Tx,
  chosen: ApiKeyRow,
  others: ApiKeyRow[],
  reason: string | undefined,
  now: Date,
): Promise<void> {
  if (chosen.signing) return;
  for (const other of others) other.signing = false;
  // Unmarks the previous signing key in a query of its own, before the new key is marked. PostgreSQL checks in each
  // query the unique index that allows one signing key per lender.
  await tx.flush();
  chosen.signing = true;
  recordAct(tx, { lenderId: chosen.lenderId, act: "key.signing", reason, data: { keyId: chosen.id } }, now);
}

/** Locks the lender and returns one of its keys. Throws ApiKeyNotUsableError, LenderNotFoundError. */
export async function lockKey(tx: Tx, lenderId: string, keyId: string): Promise<ApiKeyRow> {
  const { chosen } = await lockKeys(tx, lenderId, keyId);
  return chosen;
}

/**
 * Locks the lender. Returns the API key with this id (`chosen`), all other keys, oldest first (`others`), and the keys
 * that are newer than `chosen` (`newer`).
 */
async function lockKeys(tx: Tx, lenderId: string, keyId: string) {
  await lockLender(tx, lenderId);
  const keys = await tx.find(ApiKeyEntity, { lenderId }, { orderBy: { createdAt: "asc", id: "asc" }, refresh: true });
  const index = keys.findIndex((key) => key.id === keyId);
  const chosen = keys[index];
  if (chosen) return { chosen, others: keys.toSpliced(index, 1), newer: keys.slice(index + 1) };
  throw new ApiKeyNotUsableError("API_KEY_NOT_FOUND", keyId, `This lender has no key ${keyId}.`);
}

function revokedKeyError(keyId: string): ApiKeyNotUsableError {
  return new ApiKeyNotUsableError("API_KEY_REVOKED", keyId, `The key ${keyId} is revoked; create another.`);
}

function lastKeyError(keyId: string): ApiKeyNotUsableError {
  const detail = `${keyId} is the lender's last valid key. Without it, requests to and from the lender fail. Create another.`;
  return new ApiKeyNotUsableError("API_KEY_LAST", keyId, detail);
}
