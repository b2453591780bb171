import { equalDigests } from "#hmac";
import type { SignatureCause } from "./diagnose-cause.ts";
import { SIGNATURE_CAUSES } from "./diagnose-cause.ts";
import { type Mistake, type Recipe, recipeDigester, type RecipePart } from "./diagnose-recipe.ts";
import type { ReceivedDigest } from "./diagnose-signature.ts";

/**
 * The most signatures that one call of `diagnose` computes.
 *
 * @example
 * const request = { method: "POST", path: "/hooks/collections", timestamp, body, signature };
 * const { search } = diagnose(request, { secret }, Date.now());
 * console.log(`${search.signatures} signatures were tried; the most are ${MAX_SIGNATURES_TRIED}.`);
 */
export const MAX_SIGNATURES_TRIED = 8_000;

/**
 * The most bytes that one call of `diagnose` reads for its signatures, roughly. A large body reaches it first.
 *
 * @example
 * const request = { method: "POST", path: "/hooks/collections", timestamp, body, signature };
 * const { search } = diagnose(request, { secret }, Date.now());
 * if (!search.complete) console.log(`Not all was tried: the most is ${MAX_BYTES_READ} bytes.`);
 */
export const MAX_BYTES_READ = 20 * 1024 * 1024;

/** What a signature costs beyond its text, and how much more it costs to write a body anew than to digest it. */
const OVERHEAD_BYTES = 256;
const WRITING_FACTOR = 4;
/** Larger bodies are not written anew. */
const MAX_WRITTEN_BYTES = 128 * 1024;
/** Of a large body's bound, mistakes that are tried on their own may take this much: pairs shall have their turn. */
const MAX_FAR_BYTES = MAX_BYTES_READ / 8;

/** Counts work, and stops it at the bound. */
export class Work {
  signatures = 0;
  bytes = 0;
  /** False once something was left out because it would have passed the bound. */
  complete = true;

  /** Whether there is still room for this; if so it is counted. */
  take(bytes: number, signatures: 0 | 1): boolean {
    if (this.signatures + signatures > MAX_SIGNATURES_TRIED || this.bytes + bytes > MAX_BYTES_READ) {
      this.complete = false;
      return false;
    }
    this.signatures += signatures;
    this.bytes += bytes;
    return true;
  }
}

/** A mistake, with the part as it leaves it; undefined where it changes nothing unless another is made before. */
interface Candidate {
  readonly mistake: Mistake;
  readonly value: Recipe[RecipePart] | undefined;
}

/**
 * The mistakes that make the digest that was received: none, one or two; undefined when no explanation was found. The
 * simplest is tried first, and of equally simple ones the most usual. `far` are mistakes that are tried on their own only.
 */
export function findMistakes(
  { digest, algorithm }: ReceivedDigest,
  right: Recipe,
  mistakes: readonly Mistake[],
  far: Iterable<Mistake>,
  work: Work,
): readonly Mistake[] | undefined {
  const digestOf = recipeDigester(algorithm);

  function reproduces(recipe: Recipe): boolean {
    const { method, path, query, timestamp, body } = recipe;
    const length = method.length + path.length + query.length + timestamp.length + body.length;
    return work.take(length + OVERHEAD_BYTES, 1) && equalDigests(digestOf(recipe), digest);
  }

  if (reproduces(right)) return [];
  const candidates = candidatesFor(right, mistakes, work);
  for (const { mistake, value } of candidates) {
    if (value !== undefined && reproduces({ ...right, [mistake.part]: value })) return [mistake];
  }
  const farEnd = work.bytes + MAX_FAR_BYTES;
  for (const mistake of far) {
    if (work.bytes > farEnd) break;
    if (reproduces({ ...right, [mistake.part]: changeBy(mistake, right[mistake.part]) })) return [mistake];
  }
  if (work.bytes > farEnd) work.complete = false;
  for (const [first, second] of pairsOf(candidates)) {
    const recipe = withBoth(right, first, second, work);
    if (recipe && reproduces(recipe)) return [first.mistake, second.mistake];
  }
  return undefined;
}

/** The mistakes, the most usual first; those of one cause that leave a part alike count once. */
function candidatesFor(right: Recipe, mistakes: readonly Mistake[], work: Work): Candidate[] {
  const candidates: Candidate[] = [];
  for (const mistake of mistakes) {
    if (!work.take(costOfChange(right[mistake.part]), 0)) continue;
    const value = changeBy(mistake, right[mistake.part]);
    const isKnown = candidates.some((other) => other.mistake.cause === mistake.cause && isSame(other.value, value));
    if (value === undefined || !isKnown) candidates.push({ mistake, value });
  }
  return candidates.toSorted((one, other) => rankOf(one.mistake.cause) - rankOf(other.mistake.cause));
}

/** Every two of the candidates that can be made together, those first that are usual both. */
function* pairsOf(candidates: readonly Candidate[]): Generator<readonly [Candidate, Candidate]> {
  for (let sum = 1; sum < 2 * candidates.length - 2; sum += 1) {
    for (let index = Math.max(0, sum - candidates.length + 1); index < sum - index; index += 1) {
      const [one, other] = [candidates[index] as Candidate, candidates[sum - index] as Candidate];
      if (one.mistake.part !== other.mistake.part || one.mistake.step !== other.mistake.step) yield [one, other];
    }
  }
}

function withBoth(right: Recipe, one: Candidate, other: Candidate, work: Work): Recipe | undefined {
  if (one.mistake.part !== other.mistake.part) {
    if (one.value === undefined || other.value === undefined) return undefined;
    return { ...right, [one.mistake.part]: one.value, [other.mistake.part]: other.value };
  }
  const [earlier, later] = one.mistake.step < other.mistake.step ? [one, other] : [other, one];
  if (earlier.value === undefined || !work.take(costOfChange(earlier.value), 0)) return undefined;
  const value = changeBy(later.mistake, earlier.value);
  return value === undefined ? undefined : { ...right, [later.mistake.part]: value };
}

/** The part as the mistake leaves it; undefined where it leaves it alone. */
function changeBy({ change }: Mistake, value: Recipe[RecipePart]): Recipe[RecipePart] | undefined {
  const changed = (change as (value: Recipe[RecipePart]) => Recipe[RecipePart] | undefined)(value);
  return isSame(changed, value) ? undefined : changed;
}

/** Bodies are the only part that may be long. */
function costOfChange(value: Recipe[RecipePart]): number {
  if (typeof value === "string") return 0;
  return value.length > MAX_WRITTEN_BYTES ? Infinity : value.length * WRITING_FACTOR;
}

function isSame(one: Recipe[RecipePart] | undefined, other: Recipe[RecipePart] | undefined): boolean {
  if (!(one instanceof Uint8Array && other instanceof Uint8Array)) return one === other;
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) if (one[index] !== other[index]) return false;
  return true;
}

const RANKS: ReadonlyMap<SignatureCause, number> = new Map(SIGNATURE_CAUSES.map((cause, rank) => [cause, rank]));

function rankOf(cause: SignatureCause): number {
  return RANKS.get(cause) as number;
}
