import { digestOf } from "#hmac";
import type { SignatureCause } from "./diagnose-cause.ts";
import type { DigestAlgorithm } from "../digest-algorithm.ts";

/** How a digest is computed from the key and the message. Only `hmac` is correct. */
export type Scheme = "hmac" | "swapped" | "hash" | "hash-secret-first" | "hash-secret-last";

/** All values from which a client computes its signature. Each value is either correct or changed by a mistake. */
export interface Recipe {
  /** The key of the HMAC. If it is text, it is encoded as UTF-8. */
  readonly secret: string | Uint8Array;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly timestamp: string;
  readonly body: Uint8Array;
  readonly separator: string;
  /** Whether a separator follows the timestamp. Some clients leave it out if there is no body. */
  readonly ending: "separator" | "none";
  readonly scheme: Scheme;
}

export type RecipePart = keyof Recipe;

/**
 * One way to make a mistake. It changes one part of a `Recipe`, that is, one of the values from which a client computes
 * its signature.
 */
export type Mistake = { [Part in RecipePart]: MistakeIn<Part> }[RecipePart];

export interface MistakeIn<Part extends RecipePart> {
  readonly cause: SignatureCause;
  readonly part: Part;
  /** Two mistakes in one part can occur together if their steps differ. The mistake with the lower step comes first. */
  readonly step: number;
  /** Returns the changed part, or undefined if the mistake is not possible with this value. */
  readonly change: (value: Recipe[Part]) => Recipe[Part] | undefined;
  /** How to correct the mistake, if there is more to say than the general remedy of the cause. */
  readonly fix?: string;
}

/** Returns one mistake for each of the changes, all with the same cause. */
export function ways<Part extends RecipePart>(
  at: { part: Part; step?: number },
  cause: SignatureCause,
  changes: readonly MistakeIn<Part>["change"][],
  fix?: string,
): MistakeIn<Part>[] {
  return changes.map((change) => ({
    cause,
    part: at.part,
    step: at.step ?? 0,
    change,
    ...(fix !== undefined && { fix }),
  }));
}

const encoder = new TextEncoder();

/** Returns a function that computes a signature's digest from a `Recipe`. The function caches prepared keys. */
export function recipeDigester(algorithm: DigestAlgorithm): (recipe: Recipe) => Uint8Array {
  const known = new Map<string | Uint8Array, Pads>();

  function padsOfSecret(secret: string | Uint8Array): Pads {
    const pads = known.get(secret) ?? padsOf(algorithm, typeof secret === "string" ? encoder.encode(secret) : secret);
    known.set(secret, pads);
    return pads;
  }

  return (recipe) => {
    const head = headOf(recipe);
    const { secret, body, scheme } = recipe;
    switch (scheme) {
      case "hmac":
        return hmac(algorithm, padsOfSecret(secret), [head, body]);
      case "swapped":
        return hmac(algorithm, padsOf(algorithm, joined(head, body)), [secret]);
      case "hash":
        return digestOf(algorithm, [head, body]);
      case "hash-secret-first":
        return digestOf(algorithm, [secret, head, body]);
      case "hash-secret-last":
        return digestOf(algorithm, [head, body, secret]);
    }
  };
}

function headOf({ method, path, query, timestamp, separator, ending }: Recipe): string {
  return method + separator + path + query + separator + timestamp + (ending === "none" ? "" : separator);
}

interface Pads {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
}

/** Computes the HMAC (RFC 2104) of the parts with any of the algorithms. */
function hmac(algorithm: DigestAlgorithm, { inner, outer }: Pads, parts: readonly (string | Uint8Array)[]): Uint8Array {
  return digestOf(algorithm, [outer, digestOf(algorithm, [inner, ...parts])]);
}

function padsOf(algorithm: DigestAlgorithm, secret: Uint8Array): Pads {
  const blockBytes = algorithm === "sha512" ? 128 : 64;
  const key = new Uint8Array(blockBytes);
  key.set(secret.length > blockBytes ? digestOf(algorithm, [secret]) : secret);
  return { inner: key.map((byte) => byte ^ 0x36), outer: key.map((byte) => byte ^ 0x5c) };
}

function joined(head: string, body: Uint8Array): Uint8Array {
  const headBytes = encoder.encode(head);
  const message = new Uint8Array(headBytes.length + body.length);
  message.set(headBytes);
  message.set(body, headBytes.length);
  return message;
}
