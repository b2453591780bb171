import type { EntityManager } from "@collections/database";
import { type SigningKey, signingKey } from "@collections/signing";
import { stateAt } from "./api-key.ts";
import { createFreshCache } from "./fresh-cache.ts";
import { isApiKeyId } from "./key-format.ts";
import { type KeyRow, readsOfCluster, readsOfOneServer, type SecretRow, secretsWith } from "./key-reads.ts";
import type { LenderProfile } from "../lender/lender.ts";
import type { ApiKeyState } from "../schema.ts";
import { apiKeySecretContext } from "../secret/sealed-context.ts";
import { opened, SealedValueError, type Vault } from "../secret/vault.ts";

/**
 * With a question of up to 200 ms on top, what is revoked or suspended anywhere holds here within one second.
 *
 * @example
 * const refusedEverywhereAt = new Date(now.getTime() + CREDENTIAL_MAX_AGE_MS + 200);
 */
export const CREDENTIAL_MAX_AGE_MS = 800;
const MAX_CREDENTIALS = 20_000;
const MAX_UNKNOWN_KEYS = 2_000;
const MAX_KEYS_WITH_SECRETS = 1_000;

/** What authenticating a request needs. The caller decides: a revoked key and a suspended lender are found too. */
export interface Credential {
  readonly lender: LenderProfile;
  readonly keyId: string;
  /** `retiring` is as good as `active`; past its date it is `revoked`. */
  readonly keyState: ApiKeyState;
  readonly signingKey: SigningKey;
  /** The signature debugger is open for the key until then, where it is closed otherwise. */
  readonly debugUntil: Date | null;
}

/** The secret of a key in the clear, and those of its lender's newest other keys: for the signature debugger alone. */
export interface KeySecrets {
  readonly keyId: string;
  readonly secret: string;
  readonly others: readonly { readonly keyId: string; readonly secret: string }[];
}

/** The key that signs what goes to a lender. */
export interface LenderSigningKey {
  readonly keyId: string;
  readonly signingKey: SigningKey;
}

/** The keys of lenders, by the id in a request or by the lender that something goes to. */
export interface Credentials {
  /** The key with this id; undefined when there is none. Throws SealedValueError. contract: Authentication */
  byKeyId(keyId: string): Promise<Credential | undefined>;
  /**
   * The lender's signing key. A key that does not open is skipped for the next one that may sign. Undefined when the lender
   * has no key left. Throws SealedValueError when none of its keys opens. contract: Webhook signing
   */
  signingKeyOf(lenderId: string): Promise<LenderSigningKey | undefined>;
  /**
   * The secret of this key and of its lender's others, revoked ones too, newest first: one of them may have signed by
   * mistake. Others that do not open are left out. Undefined when there is no such key. Throws SealedValueError.
   * contract: Signature debugger
   */
  secretsFor(keyId: string): Promise<KeySecrets | undefined>;
}

/** How `createCredentials` reads keys. */
export interface CredentialOptions {
  /** Dates retiring keys. Default: this machine's clock. */
  readonly now?: () => Date;
  /** Whether the tables are distributed over several nodes: then every statement names one lender. Default: false. */
  readonly isDistributed?: boolean;
}

/**
 * Keys and lenders in memory, for the hot path: no round trip while they are fresh, and none older than
 * `CREDENTIAL_MAX_AGE_MS`. `em` gives a fresh EntityManager for each question. One per process.
 *
 * @example
 * const credentials = createCredentials(() => database.em(), vault);
 * const found = await credentials.byKeyId("lk_4f1c09d7a2b84e63905b7d1e");
 * const mayCall = found !== undefined && found.keyState !== "revoked";
 * const mayImport = mayCall && found.lender.state === "active";
 */
export function createCredentials(
  em: () => EntityManager,
  vault: Vault,
  { now = () => new Date(), isDistributed = false }: CredentialOptions = {},
): Credentials {
  const limits = { maxAgeMs: CREDENTIAL_MAX_AGE_MS, maxPresent: MAX_CREDENTIALS, maxAbsent: MAX_UNKNOWN_KEYS };
  const reads = isDistributed ? readsOfCluster(em, now) : readsOfOneServer(em, now);
  const keys = createFreshCache({ load: async (keyId) => openKey(vault, await reads.key(keyId)), ...limits });
  const signingKeys = createFreshCache({
    load: async (lenderId) => openSigningKey(vault, await reads.signingKeys(lenderId)),
    ...limits,
  });
  const secrets = createFreshCache({
    async load(keyId) {
      const key = await keys.get(keyId);
      return key && (await readSecrets(em(), vault, { lenderId: key.credential.lender.id, keyId }));
    },
    ...limits,
    maxPresent: MAX_KEYS_WITH_SECRETS,
  });
  return {
    async byKeyId(keyId) {
      const found = isApiKeyId(keyId) ? await keys.get(keyId) : undefined;
      return found && { ...found.credential, keyState: stateAt(found, now()) };
    },
    signingKeyOf: (lenderId) => signingKeys.get(lenderId),
    secretsFor: async (keyId) => (isApiKeyId(keyId) ? await secrets.get(keyId) : undefined),
  };
}

function openKey(vault: Vault, row: KeyRow | undefined) {
  if (!row) return undefined;
  const { keyId, keyState, retiresAt, debugUntil, secret, ...lender } = row;
  const key = signingKey(vault.open(secret, apiKeySecretContext(lender.id, keyId)));
  return { state: keyState, retiresAt, credential: { lender, keyId, signingKey: key, debugUntil } };
}

/** The first key that opens, of a lender's keys in the order in which they may sign. */
function openSigningKey(vault: Vault, rows: readonly SecretRow[]): LenderSigningKey | undefined {
  let fault: SealedValueError | undefined;
  for (const { keyId, lenderId, secret } of rows) {
    const plain = opened(vault, secret, apiKeySecretContext(lenderId, keyId));
    if (!(plain instanceof SealedValueError)) return { keyId, signingKey: signingKey(plain) };
    fault ??= plain;
  }
  if (fault) throw fault;
  return undefined;
}

async function readSecrets(
  em: EntityManager,
  vault: Vault,
  key: { lenderId: string; keyId: string },
): Promise<KeySecrets | undefined> {
  const [own, ...others] = await secretsWith(em, key);
  if (own?.keyId !== key.keyId) return undefined;
  const secret = vault.open(own.secret, apiKeySecretContext(own.lenderId, own.keyId));
  return { keyId: own.keyId, secret, others: others.flatMap(openedIfItOpens) };

  function openedIfItOpens({ lenderId, keyId, secret }: SecretRow): { keyId: string; secret: string }[] {
    const plain = opened(vault, secret, apiKeySecretContext(lenderId, keyId));
    return plain instanceof SealedValueError ? [] : [{ keyId, secret: plain }];
  }
}
