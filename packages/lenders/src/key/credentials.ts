import type { EntityManager } from "@collections/entities";
import { type SigningKey, signingKey } from "@collections/signing";
import { stateAt } from "./api-key.ts";
import { createFreshCache } from "./fresh-cache.ts";
import { isApiKeyId } from "./key-format.ts";
import { type KeyRow, readSecretsOfLender, readsOfCluster, readsOfOneServer, type SecretRow } from "./key-reads.ts";
import type { LenderProfile } from "../lender/lender.ts";
import type { ApiKeyState } from "../schema.ts";
import { apiKeySecretContext } from "../secret/sealed-context.ts";
import { SealedValueError, tryOpen, type Vault } from "../secret/vault.ts";

/**
 * The maximum age of a cached API key, in milliseconds. A read of the key may take another 200 ms. So this process
 * rejects a key or a lender within one second after any process has revoked the key or suspended the lender.
 *
 * @example
 * const rejectedEverywhereAt = new Date(now.getTime() + CREDENTIAL_MAX_AGE_MS + 200);
 */
export const CREDENTIAL_MAX_AGE_MS = 800;
const MAX_CREDENTIALS = 20_000;
const MAX_UNKNOWN_KEYS = 2_000;
const MAX_KEYS_WITH_SECRETS = 1_000;

/** An API key and its lender, to authenticate a request. The caller must check `keyState` and `lender.state`. */
export interface Credential {
  readonly lender: LenderProfile;
  readonly keyId: string;
  /**
   * The current state of the API key. An `active` or `retiring` key is valid. A retiring key is `revoked` from its
   * retirement date on.
   */
  readonly keyState: ApiKeyState;
  readonly signingKey: SigningKey;
  /** In environments where the signature debugger is closed by default, it is open for this API key until this time. */
  readonly debugUntil: Date | null;
}

/** The plain secrets of an API key and of its lender's newest other keys. Only the signature debugger may use them. */
export interface KeySecrets {
  readonly keyId: string;
  readonly secret: string;
  readonly others: readonly { readonly keyId: string; readonly secret: string }[];
}

/** The API key that signs requests to a lender. */
export interface LenderSigningKey {
  readonly keyId: string;
  readonly signingKey: SigningKey;
}

/** Looks up API keys: by the key id of a request, or by the lender that a request goes to. */
export interface Credentials {
  /**
   * Returns the API key with this id, or undefined if there is none. Throws SealedValueError. contract: Authentication
   */
  byKeyId(keyId: string): Promise<Credential | undefined>;
  /**
   * Returns the lender's signing key, or undefined if the lender has no valid key. A key whose secret cannot be
   * decrypted is skipped, and the next key signs. Throws SealedValueError if no secret can be decrypted.
   * contract: Webhook signing
   */
  signingKeyOf(lenderId: string): Promise<LenderSigningKey | undefined>;
  /**
   * Returns the secrets of this API key and of its lender's other keys, newest first, or undefined if there is no such
   * key. The other keys include revoked keys, because one of them may have signed by mistake. They do not include keys
   * whose secret cannot be decrypted. Throws SealedValueError if this key's secret cannot be decrypted. contract:
   * Signature debugger
   */
  secretsFor(keyId: string): Promise<KeySecrets | undefined>;
}

/** How `createCredentials` reads API keys. */
export interface CredentialOptions {
  /** The clock that decides whether the retirement date of an API key has passed. Default: this machine's clock. */
  readonly now?: () => Date;
  /**
   * Whether the tables are distributed over a cluster. If so, each query reads the API keys of one lender. Default:
   * false.
   */
  readonly isDistributed?: boolean;
}

/**
 * Creates a cache of API keys and lenders for the hot path. Cached values are at most `CREDENTIAL_MAX_AGE_MS` old. `em`
 * must return a new EntityManager for each read. Create one cache per process.
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

/**
 * Returns the first API key whose secret can be decrypted. `rows` must be sorted by the order in which the keys may
 * sign.
 */
function openSigningKey(vault: Vault, rows: readonly SecretRow[]): LenderSigningKey | undefined {
  let fault: SealedValueError | undefined;
  for (const { keyId, lenderId, secret } of rows) {
    const plain = tryOpen(vault, secret, apiKeySecretContext(lenderId, keyId));
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
  const [own, ...others] = await readSecretsOfLender(em, key);
  if (own?.keyId !== key.keyId) return undefined;
  const secret = vault.open(own.secret, apiKeySecretContext(own.lenderId, own.keyId));
  return { keyId: own.keyId, secret, others: others.flatMap(openOrSkip) };

  function openOrSkip({ lenderId, keyId, secret }: SecretRow): { keyId: string; secret: string }[] {
    const plain = tryOpen(vault, secret, apiKeySecretContext(lenderId, keyId));
    return plain instanceof SealedValueError ? [] : [{ keyId, secret: plain }];
  }
}
