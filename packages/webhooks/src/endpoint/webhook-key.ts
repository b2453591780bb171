import type { Secret } from "@collections/signing";

/**
 * The key that signs a tenant's webhooks. A receiver finds the secret by the key's id.
 */
export interface WebhookKey {
  readonly keyId: string;
  readonly secret: Secret;
  /**
   * The key before this one, while a receiver may still verify with it: each request then has a second signature, by this key.
   * Default: none.
   */
  readonly retiring?: Omit<WebhookKey, "retiring"> | undefined;
}

/** The kinds of fault of a signing key. */
export type WebhookKeyFault = "KEY_ID_INVALID" | "SECRET_TOO_SHORT";

/**
 * `signingKeyOf` returned a key that cannot sign. No request was sent, and the event stays due. The message contains
 * neither the key id nor the secret, because a host may have swapped them.
 *
 * @example
 * try {
 *   await testEndpoint(em, sender, await pingOf(tenantId));
 * } catch (error) {
 *   if (error instanceof InvalidWebhookKeyError) console.error(error.code, error.tenantId);
 *   throw error;
 * }
 */
export class InvalidWebhookKeyError extends Error {
  override readonly name = "InvalidWebhookKeyError";
  readonly code: WebhookKeyFault;
  readonly tenantId: string;
  /** @deprecated Use `tenantId`. Version 0.2 removes `lenderId`. */
  readonly lenderId: string;
  /** The name of the endpoint. Undefined for the unnamed endpoint. */
  readonly endpoint: string | undefined;

  constructor(code: WebhookKeyFault, { tenantId, endpoint }: KeyOwner, message: string) {
    super(message);
    this.code = code;
    this.tenantId = tenantId;
    this.lenderId = tenantId;
    this.endpoint = endpoint;
  }
}

/** A valid id of a signing key. It is sent in a header, so only visible ASCII characters are allowed. */
const KEY_ID = /^[\x21-\x7e]{1,200}$/;
/** A secret of 16 random bytes in hexadecimal or base64 is longer than this minimum. */
const MIN_SECRET_CHARS = 16;

/** The endpoint that a signing key belongs to: the key signs the requests to it. */
export interface KeyOwner {
  readonly tenantId: string;
  readonly endpoint?: string | undefined;
}

/** Checks the signing key of an endpoint. The length of a prepared secret is unknown, so only texts are measured. */
export function checkKey(key: WebhookKey, owner: KeyOwner): void {
  checkOne(key, owner);
  const { retiring } = key;
  if (retiring !== undefined) checkOne(retiring, owner);
}

function checkOne(key: WebhookKey, owner: KeyOwner): void {
  const { keyId, secret } = (key ?? {}) as { readonly keyId?: unknown; readonly secret?: unknown };
  if (typeof keyId !== "string" || !KEY_ID.test(keyId)) {
    throw new InvalidWebhookKeyError(
      "KEY_ID_INVALID",
      owner,
      `${callFor(owner)} returned no valid keyId; expected { keyId, secret } with a keyId of 1 to 200 visible ASCII characters.`,
    );
  }
  if (typeof secret === "object" && secret !== null) return;
  if (typeof secret !== "string" || secret.length < MIN_SECRET_CHARS) {
    throw new InvalidWebhookKeyError(
      "SECRET_TOO_SHORT",
      owner,
      `${callFor(owner)} returned a secret of fewer than ${MIN_SECRET_CHARS} characters; make one with randomBytes(32).toString("hex").`,
    );
  }
}

function callFor({ tenantId, endpoint }: KeyOwner): string {
  return endpoint === undefined ? `signingKeyOf("${tenantId}")` : `signingKeyOf("${tenantId}", "${endpoint}")`;
}
