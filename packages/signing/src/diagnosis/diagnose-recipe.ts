import { digestOf } from "#hmac";
import type { SignatureCause } from "./diagnose-cause.ts";
import type { DigestAlgorithm } from "../digest-algorithm.ts";

/** How key and message are made into a digest. Only `hmac` is right. */
export type Scheme = "hmac" | "swapped" | "hash" | "hash-secret-first" | "hash-secret-last";

/** What a client signs, part by part: the right way, or with parts changed by mistakes. */
export interface Recipe {
  /** Text counts as UTF-8. */
  readonly secret: string | Uint8Array;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly timestamp: string;
  readonly body: Uint8Array;
  readonly separator: string;
  /** Whether a separator follows the timestamp; only a client without a body leaves it out. */
  readonly ending: "separator" | "none";
  readonly scheme: Scheme;
}

export type RecipePart = keyof Recipe;

/** One way to make a mistake: it changes one part of a recipe. */
export type Mistake = { [Part in RecipePart]: MistakeIn<Part> }[RecipePart];

export interface MistakeIn<Part extends RecipePart> {
  readonly cause: SignatureCause;
  readonly part: Part;
  /** Two mistakes in one part combine where their steps differ: the lower step comes first. */
  readonly step: number;
  /** The part as the mistake leaves it; undefined where it cannot be made. */
  readonly change: (value: Recipe[Part]) => Recipe[Part] | undefined;
  /** What to do about it, where there is more to say than of the cause in general. */
  readonly fix?: string;
}

/** Every way to make a mistake that `changes` has, as mistakes of one cause. */
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

/** A function that makes what a client sends as its signature when it follows a recipe. It remembers prepared keys. */
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

/** RFC 2104, over any of the algorithms. */
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
