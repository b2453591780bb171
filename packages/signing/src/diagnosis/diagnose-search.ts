import { equalDigests } from "#hmac";
import type { SignatureCause } from "./diagnose-cause.ts";
import { SIGNATURE_CAUSES } from "./diagnose-cause.ts";
import { type Mistake, type Recipe, recipeDigester, type RecipePart } from "./diagnose-recipe.ts";
import type { ReceivedDigest } from "./diagnose-signature.ts";

/**
 * The maximum number of signatures that one call of `diagnose` computes.
 *
 * @example
 * const request = { method: "POST", path: "/hooks/collections", timestamp, body, signature };
 * const { search } = diagnose(request, { secret }, Date.now());
 * console.log(`${search.signatures} of at most ${MAX_SIGNATURES_TRIED} signatures were tried.`);
 */
export const MAX_SIGNATURES_TRIED = 8_000;

/**
 * The approximate maximum number of bytes that one call of `diagnose` reads to compute signatures. A search with a large
 * body reaches this limit before `MAX_SIGNATURES_TRIED`.
 *
 * @example
 * const request = { method: "POST", path: "/hooks/collections", timestamp, body, signature };
 * const { search } = diagnose(request, { secret }, Date.now());
 * if (!search.complete) console.log(`The search stopped after about ${MAX_BYTES_READ} bytes.`);
 */
export const MAX_BYTES_READ = 20 * 1024 * 1024;

/** The fixed cost of a signature, in bytes, in addition to the length of its text. */
const OVERHEAD_BYTES = 256;
/** The cost of serialising a body again, relative to digesting it. */
const WRITING_FACTOR = 4;
/** A body that is larger than this is not serialised again. */
const MAX_WRITTEN_BYTES = 128 * 1024;
/**
 * The maximum number of bytes that `findMistakes` reads to try its `far` mistakes, which are signed timestamps that
 * differ much from the sent one. The limit lets a search with a large body still try pairs of mistakes.
 */
const MAX_FAR_BYTES = MAX_BYTES_READ / 8;

/** Counts and limits the work of one search for mistakes. */
export class Work {
  signatures = 0;
  bytes = 0;
  /** False if part of the search was left out because of the limit. */
  complete = true;

  /** If the work is within the limits, counts it and returns true. Otherwise returns false. */
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

/**
 * A mistake, and the value that it gives to its part of the correct `Recipe`. `value` is undefined if the mistake only
 * has an effect after another mistake.
 */
interface Candidate {
  readonly mistake: Mistake;
  readonly value: Recipe[RecipePart] | undefined;
}

/**
 * Finds the one or two mistakes that reproduce the received digest. Returns an empty list if the correct values
 * (`right`) reproduce the digest, and undefined if no mistake that was tried reproduces it. Tries single mistakes
 * before pairs, and frequent mistakes before rare ones. A mistake in `far` is tried only alone, not as one of a pair.
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

/** Orders the mistakes by frequency. Keeps only one of several mistakes with the same cause and the same effect. */
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

/** Yields all pairs of candidates that can occur together, pairs of frequent mistakes first. */
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

/** Returns the value that the mistake makes of `value`, or undefined if the mistake leaves `value` unchanged. */
function changeBy({ change }: Mistake, value: Recipe[RecipePart]): Recipe[RecipePart] | undefined {
  const changed = (change as (value: Recipe[RecipePart]) => Recipe[RecipePart] | undefined)(value);
  return isSame(changed, value) ? undefined : changed;
}

/** Returns the cost of changing a part. Only bodies may be long, so changing another part costs nothing. */
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
