import type { EntityManager, Tx } from "@collections/database";
import { checkReason, recordAct } from "../lender/audit.ts";
import { newApiKeyId, newHmacSecret } from "./key-format.ts";
import { ownerOfKey } from "./key-reads.ts";
import { ApiKeyNotUsableError, InvalidLenderError } from "../lender/lender-fault.ts";
import { lockLender } from "../lender/lender.ts";
import { ApiKeyEntity, type ApiKeyRow, type ApiKeyState, LenderOfKeyEntity } from "../schema.ts";
import { apiKeySecretContext } from "../secret/sealed-context.ts";
import type { Vault } from "../secret/vault.ts";

/** An API key without its secret. A `retiring` key whose date has passed shows as `revoked`. */
export interface ApiKey {
  readonly id: string;
  readonly state: ApiKeyState;
  readonly retiresAt: Date | null;
  /** It signs what the service sends to the lender. */
  readonly signing: boolean;
  readonly createdAt: Date;
  /** To the minute. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** The signature debugger is open for it until then, where it is closed otherwise. */
  readonly debugUntil: Date | null;
}

/** A new key and its secret. Shown to the lender once: the secret is kept sealed from here on. */
export interface IssuedKey {
  readonly apiKeyId: string;
  readonly hmacSecret: string;
}

/** The state that counts at `now`: a retiring key ends with its date, whether or not somebody revokes it. */
export function stateAt(key: { state: ApiKeyState; retiresAt: Date | null }, now: Date): ApiKeyState {
  const isOver = key.state === "retiring" && key.retiresAt !== null && key.retiresAt <= now;
  return isOver ? "revoked" : key.state;
}

/**
 * The key that signs at `now`, of keys with the oldest first: the one that was chosen while it works; then one that stays
 * before one that ends, one that the lender has used before one it may not have yet, the newest of those alike.
 * The hot path asks PostgreSQL the same (see credentials.ts).
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
 * Every key of a lender, oldest first.
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
 * The lender that a key belongs to, whatever state the key is in.
 *
 * @example
 * const lenderId = await lenderOfKey(em, "lk_4f1c09d7a2b84e63905b7d1e");
 */
export async function lenderOfKey(em: EntityManager, keyId: string): Promise<string | undefined> {
  const lenderId = await ownerOfKey(em, keyId);
  if (lenderId !== undefined) return lenderId;
  // A process of an older version has made the key, without a row in lenders.lender_of_key.
  const row = await em.findOne(ApiKeyEntity, { id: keyId });
  return row?.lenderId;
}

/**
 * Another key beside those there are. It becomes the signing key by `setSigningKey`, at its first use, or at once when
 * the lender has none. Throws LenderNotFoundError.
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
 * The key works until `on`, then no more; if it signs what we send, it does so until then. The last key that would work
 * after `on` is kept unless `evenIfLast`. Throws InvalidLenderError, ApiKeyNotUsableError, LenderNotFoundError.
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
    const detail = "Expected a time to come; to end a key now, revoke it.";
    throw new InvalidLenderError([{ code: "INVALID_DATE", field: "on", detail }]);
  }
  const { chosen, others } = await lockKeys(tx, lenderId, keyId);
  if (stateAt(chosen, now) === "revoked") throw revoked(keyId);
  if (!evenIfLast && !others.some((other) => stateAt(other, on) !== "revoked")) throw last(keyId);
  Object.assign(chosen, { state: "retiring", retiresAt: on });
  recordAct(tx, { lenderId, act: "key.retiring", reason, data: { keyId, on: on.toISOString() } }, now);
}

/**
 * Ends a key: within a second every process refuses it. If it was the signing key, another one signs from now on. The last
 * key that works is kept unless `evenIfLast`; a revoked key stays revoked.
 * Throws InvalidLenderError, ApiKeyNotUsableError, LenderNotFoundError.
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
  const heir = signingKeyAt(others, now);
  if (!evenIfLast && !heir && stateAt(chosen, now) !== "revoked") throw last(keyId);
  const signed = chosen.signing;
  Object.assign(chosen, { state: "revoked", revokedAt: now, signing: false });
  recordAct(tx, { lenderId, act: "key.revoked", reason, data: { keyId } }, now);
  if (signed && heir) await moveSigning(tx, heir, others, `${keyId} was revoked`, now);
}

/**
 * From now on this active key signs webhooks and mint calls. Throws ApiKeyNotUsableError, LenderNotFoundError.
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
  if (stateAt(chosen, now) === "revoked") throw revoked(keyId);
  if (chosen.state === "retiring") {
    throw new ApiKeyNotUsableError("API_KEY_RETIRED", keyId, `The key ${keyId} is retiring; choose one that stays.`);
  }
  await moveSigning(tx, chosen, others, reason, now);
}

/**
 * Notes that a key was used at `at`, to the minute. The first use of a key makes it the signing key, if it is newer than
 * the one that signs: its lender has the secret now. Of two first uses at once the newer key's holds, in either order.
 * Outside the request: once a minute and key is enough (see `createKeyUses`).
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
 * Writes down which key signs when the one that was chosen has ended by its date, so that a key made now does not take
 * over before its lender has it. Answers whether any key signs.
 */
async function keepSigningKey(tx: Tx, lenderId: string, now: Date): Promise<boolean> {
  const keys = await tx.find(ApiKeyEntity, { lenderId }, { orderBy: { createdAt: "asc", id: "asc" }, refresh: true });
  const signing = signingKeyAt(keys, now);
  if (signing) await moveSigning(tx, signing, keys, "the key before it has ended", now);
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
  // At no moment may two keys sign: the index that guards this looks at every statement.
  await tx.flush();
  chosen.signing = true;
  recordAct(tx, { lenderId: chosen.lenderId, act: "key.signing", reason, data: { keyId: chosen.id } }, now);
}

/** One key of the lender, under the lender's lock. Throws ApiKeyNotUsableError, LenderNotFoundError. */
export async function lockKey(tx: Tx, lenderId: string, keyId: string): Promise<ApiKeyRow> {
  const { chosen } = await lockKeys(tx, lenderId, keyId);
  return chosen;
}

/** All keys of the lender, oldest first, under the lender's lock; `newer` are those made after the chosen one. */
async function lockKeys(tx: Tx, lenderId: string, keyId: string) {
  await lockLender(tx, lenderId);
  const keys = await tx.find(ApiKeyEntity, { lenderId }, { orderBy: { createdAt: "asc", id: "asc" }, refresh: true });
  const place = keys.findIndex((key) => key.id === keyId);
  const chosen = keys[place];
  if (chosen) return { chosen, others: keys.toSpliced(place, 1), newer: keys.slice(place + 1) };
  throw new ApiKeyNotUsableError("API_KEY_NOT_FOUND", keyId, `This lender has no key ${keyId}.`);
}

function revoked(keyId: string): ApiKeyNotUsableError {
  return new ApiKeyNotUsableError("API_KEY_REVOKED", keyId, `The key ${keyId} is revoked; create another.`);
}

function last(keyId: string): ApiKeyNotUsableError {
  const detail = `Without ${keyId} no key of the lender would work: it could neither call nor be called. Create another.`;
  return new ApiKeyNotUsableError("API_KEY_LAST", keyId, detail);
}
