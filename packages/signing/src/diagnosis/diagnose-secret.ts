import { decodeBase64 } from "../base64.ts";
import { type MistakeIn, ways } from "./diagnose-recipe.ts";

/** The correct secret, and other secrets that the client may have used by mistake. */
export interface SecretsToTry {
  readonly secret: string;
  /** The id of the API key. Some clients use it as the secret by mistake. */
  readonly keyId?: string;
  /** Other secrets of the same lender, such as those of older and revoked API keys. */
  readonly others?: readonly { readonly keyId: string; readonly secret: string }[];
}

type SecretMistake = MistakeIn<"secret">;

const CHOICE = { part: "secret", step: 0 } as const;
const TEXT = { part: "secret", step: 1 } as const;
const PREFIX = /^sk_[a-z][a-z0-9-]{0,31}_(?=.)/;

/**
 * Lists mistakes in the secret. Each mistake uses either the whole secret or nothing of it. A mistake that used only a
 * part, such as the first half, would let an attacker guess the secret part by part.
 */
export function secretMistakes({ keyId, others = [] }: SecretsToTry): SecretMistake[] {
  return [
    ...(keyId === undefined ? [] : ways(CHOICE, "SECRET_IS_KEY_ID", [() => keyId])),
    ...others.flatMap((other) =>
      ways(CHOICE, "SECRET_OF_ANOTHER_KEY", [() => other.secret], `The secret of the key ${other.keyId} was used.`),
    ),
    ...ways(TEXT, "SECRET_WITH_NEWLINE", [text((secret) => `${secret}\n`), text((secret) => `${secret}\r\n`)]),
    ...ways(TEXT, "SECRET_WITH_SPACE", [text((secret) => `${secret} `), text((secret) => ` ${secret}`)]),
    ...ways(TEXT, "SECRET_QUOTED", [text((secret) => `"${secret}"`), text((secret) => `'${secret}'`)]),
    ...ways(TEXT, "SECRET_HEX_DECODED", [
      text(hexDecoded),
      text((secret) => andThen(withoutPrefix(secret), hexDecoded)),
    ]),
    ...ways(TEXT, "SECRET_HEX_DECODED", [text(emptyByHexDecoding)], EMPTY_BY_DECODING),
    ...ways(TEXT, "SECRET_BASE64_DECODED", [
      text(decodeBase64),
      text((secret) => decodeBase64(secret.replaceAll(/[-_]/g, ""))),
      text((secret) => andThen(withoutPrefix(secret), decodeBase64)),
    ]),
    ...ways(TEXT, "SECRET_WITHOUT_PREFIX", [text(withoutPrefix)]),
    ...ways(TEXT, "SECRET_EMPTY", [() => ""]),
  ];
}

const EMPTY_BY_DECODING =
  "The key was empty. Decoding this secret from hexadecimal gives an empty key: use its text as it is, and check that its " +
  "setting is read.";

function text(change: (secret: string) => string | Uint8Array | undefined): SecretMistake["change"] {
  return (secret) => (typeof secret === "string" ? change(secret) : undefined);
}

/** Returns the secret without a prefix such as `sk_sandbox_`. Only the prefix, which is public, is removed. */
function withoutPrefix(secret: string): string | undefined {
  const prefix = PREFIX.exec(secret);
  return prefix ? secret.slice(prefix[0].length) : undefined;
}

function andThen(
  secret: string | undefined,
  decode: (secret: string) => Uint8Array | undefined,
): Uint8Array | undefined {
  return secret === undefined ? undefined : decode(secret);
}

function hexDecoded(secret: string): Uint8Array | undefined {
  if (!isHex(secret)) return undefined;
  return Uint8Array.from(secret.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

/**
 * Decodes a secret as lenient hex decoders do. They stop at the first character that is not a hex digit, so the result
 * for `sk_…` is empty.
 */
function emptyByHexDecoding(secret: string): string | undefined {
  return isHex(secret) ? undefined : "";
}

function isHex(text: string): boolean {
  return /^([0-9a-f]{2})+$/i.test(text);
}
