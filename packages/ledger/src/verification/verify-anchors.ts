import type { EntityManager } from "@collections/database";
import { type Anchor, readAnchorLine, type SignedAnchor } from "./anchor.ts";
import type { AnchorPublicKeys } from "./anchor-keys.ts";
import {
  type Block,
  blocksAt,
  type Books,
  booksOf,
  type PlacedHead,
  type RecordedAnchor,
  recordedAnchors,
} from "./anchored-books.ts";

/** A line that was kept outside the database, and where it stands. */
export interface AnchorLine {
  /** Names the line for people: `anchors.jsonl:17`. */
  readonly place: string;
  readonly text: string;
}

/** What can be wrong with an anchor, or with the chain that it is held against. */
export type AnchorProblemCode =
  | "ANCHOR_MISMATCH"
  | "ANCHOR_BEYOND_CHAIN"
  | "ANCHOR_FORGED"
  | "ANCHOR_KEY_UNKNOWN"
  | "ANCHOR_UNREADABLE"
  | "ANCHORS_MISSING";

/** One anchor, or the anchors of one lender, that do not fit. */
export interface AnchorProblem {
  readonly code: AnchorProblemCode;
  readonly table: "anchor";
  /** The place of the anchor's line. */
  readonly id: string;
  /** Null where the line cannot be trusted to name one. */
  readonly lenderId: string | null;
  readonly detail: string;
}

/** Up to where a lender's books are proven by an anchor. */
export interface ProvenBooks {
  readonly lenderId: string;
  /** The newest anchored block that fits, with every block before it; null when no anchor fits. */
  readonly block: bigint | null;
  readonly hash: string | null;
  /** When that block was made: rows recorded later are not proven. */
  readonly chainedAt: Date | null;
  readonly anchoredAt: Date | null;
  /** Transfers and bookings that no fitting anchor covers. */
  readonly unprovenRows: bigint;
}

/** What a comparison with anchors found. */
export interface AnchorVerification {
  readonly ok: boolean;
  /** Anchors with a good signature. */
  readonly anchors: number;
  /** Lines whose writer was stopped before their end. The next anchor covers what they would have. */
  readonly tornLines: number;
  readonly proven: readonly ProvenBooks[];
  /** The first 1,000. */
  readonly problems: readonly AnchorProblem[];
  readonly totalProblems: bigint;
}

/** The public keys to trust, and one lender or all. */
export interface VerifyAnchorsOptions {
  readonly keys: AnchorPublicKeys;
  readonly lenderId?: string;
}

const MAX_PROBLEMS = 1_000;
/** Heads that are compared by one statement. */
const BATCH_HEADS = 5_000;

/**
 * Holds the hash chains against anchors that were kept outside the database, and names the anchors that do not fit: a
 * chain that was computed again, was cut off or comes from an older backup, a signature that is not good. It compares the
 * hashes of blocks; `verify` proves that the rows fit the blocks, so run both.
 *
 * @example
 * async function* lines() {
 *   yield { place: "anchors.jsonl:1", text: anchorText };
 * }
 * const { ok, proven } = await verifyAnchors(em, lines(), { keys: createAnchorKeys({ masterKey }).publicKeys });
 * for (const { lenderId, block, unprovenRows } of proven) console.log(lenderId, block, unprovenRows, ok);
 */
export async function verifyAnchors(
  em: EntityManager,
  lines: AsyncIterable<AnchorLine>,
  { keys, lenderId }: VerifyAnchorsOptions,
): Promise<AnchorVerification> {
  const findings = new AnchorFindings();
  // Before the lines are read: workers go on, and what they anchor meanwhile is not among the lines.
  const recorded = await recordedAnchors(em, lenderId);
  let batch: PlacedHead[] = [];
  for await (const { place, text } of lines) {
    const anchor = findings.takeLine(place, text.trim(), keys);
    if (anchor === undefined) continue;
    const heads = anchor.heads.filter((head) => lenderId === undefined || head.lenderId === lenderId);
    batch.push(...heads.map((head) => ({ ...head, place, at: anchor.at })));
    if (batch.length < BATCH_HEADS) continue;
    findings.compare(batch, await blocksAt(em, batch));
    batch = [];
  }
  findings.compare(batch, await blocksAt(em, batch));
  const provenBlocks = new Map([...recorded.keys()].map((id) => [id, 0n]));
  for (const [id, { fit }] of findings.lenders) provenBlocks.set(id, fit?.number ?? 0n);
  return findings.verdict(await booksOf(em, lenderId, provenBlocks), recorded);
}

/** What the anchors of one lender say, in memory that does not grow with their number. */
interface LenderAnchors {
  newestNumber: bigint;
  /** The newest anchor below the first that does not fit. */
  fit?: PlacedHead & { readonly chainedAt: Date | null };
  /** The anchor with the lowest number whose block is another one. */
  misfit?: PlacedHead & { readonly found: string | null };
  misfits: number;
}

class AnchorFindings {
  readonly lenders = new Map<string, LenderAnchors>();
  #anchors = 0;
  #tornLines = 0;
  #totalProblems = 0n;
  readonly #problems: AnchorProblem[] = [];
  readonly #unknownKeys = new Map<string, { place: string; lines: number }>();

  /** The anchor of a line if its signature is good. */
  takeLine(place: string, text: string, keys: AnchorPublicKeys): Anchor | undefined {
    if (text === "") return undefined;
    const signed = readAnchorLine(text);
    if (signed === "torn") {
      this.#tornLines += 1;
      return undefined;
    }
    if (signed === "unreadable") {
      this.#add(
        "ANCHOR_UNREADABLE",
        place,
        null,
        "The line is not an anchor: it was changed, or is of another program.",
      );
      return undefined;
    }
    return this.#trusted(place, signed, keys) ? signed.anchor : undefined;
  }

  #trusted(place: string, { keyId, signature, signedText }: SignedAnchor, keys: AnchorPublicKeys): boolean {
    const key = keys.get(keyId);
    if (key === undefined) {
      const lines = this.#unknownKeys.get(keyId)?.lines ?? 0;
      this.#unknownKeys.set(keyId, { place: this.#unknownKeys.get(keyId)?.place ?? place, lines: lines + 1 });
      return false;
    }
    if (!key.verifies(signedText, signature)) {
      this.#add(
        "ANCHOR_FORGED",
        place,
        null,
        `The signature is not good for key ${keyId}: the line was changed or forged.`,
      );
      return false;
    }
    this.#anchors += 1;
    return true;
  }

  /** Compares heads with the blocks at their numbers, in the same order. */
  compare(heads: readonly PlacedHead[], blocks: readonly Block[]): void {
    for (const [index, head] of heads.entries()) {
      const { hash: found, chainedAt } = blocks[index]!;
      const lender = this.lenders.get(head.lenderId) ?? { newestNumber: 0n, misfits: 0 };
      this.lenders.set(head.lenderId, lender);
      if (head.number > lender.newestNumber) lender.newestNumber = head.number;
      if (found === head.hash) {
        const isBelowMisfit = lender.misfit === undefined || head.number < lender.misfit.number;
        if (isBelowMisfit && head.number >= (lender.fit?.number ?? 0n)) lender.fit = { ...head, chainedAt };
        continue;
      }
      lender.misfits += 1;
      if (head.number >= (lender.misfit?.number ?? head.number + 1n)) continue;
      lender.misfit = { ...head, found };
      if (lender.fit && lender.fit.number > head.number) delete lender.fit;
    }
  }

  verdict(books: readonly Books[], recorded: ReadonlyMap<string, RecordedAnchor>): AnchorVerification {
    for (const [keyId, { place, lines }] of this.#unknownKeys) {
      const detail =
        `${lines} anchors from here on are signed with key ${keyId}, which is not known: give the public key of the ` +
        "master key of that time, or find out who has signed them.";
      this.#add("ANCHOR_KEY_UNKNOWN", place, null, detail);
    }
    if (this.#anchors === 0) {
      this.#add("ANCHORS_MISSING", "-", null, "No anchor with a good signature was given, so nothing is proven.");
    }
    for (const one of books) this.#judge(one, recorded.get(one.lenderId));
    return {
      ok: this.#totalProblems === 0n,
      anchors: this.#anchors,
      tornLines: this.#tornLines,
      proven: books.map(({ lenderId, unprovenRows }) => {
        const fit = this.lenders.get(lenderId)?.fit;
        return {
          lenderId,
          block: fit?.number ?? null,
          hash: fit?.hash ?? null,
          chainedAt: fit?.chainedAt ?? null,
          anchoredAt: fit?.at ?? null,
          unprovenRows,
        };
      }),
      problems: this.#problems,
      totalProblems: this.#totalProblems,
    };
  }

  #judge({ lenderId, headNumber, headAt }: Books, recorded: RecordedAnchor | undefined): void {
    const { newestNumber = 0n, misfit, misfits = 0, fit } = this.lenders.get(lenderId) ?? {};
    if (misfit) {
      const isBeyond = misfit.found === null && misfit.number > (headNumber ?? 0n);
      const what = `Block ${misfit.number} was anchored at ${misfit.at.toISOString()} with hash ${misfit.hash}`;
      const chain =
        headNumber === null ? "there is no chain" : `the chain ends with block ${headNumber} of ${iso(headAt)}`;
      const now = isBeyond
        ? `; ${chain}. The database was restored to an earlier state, or its newest blocks were removed`
        : `; its hash is ${misfit.found ?? "gone"} now. Rows or blocks were changed after that time and the chain was ` +
          "computed again, or the database was restored and went on from an earlier state";
      const since = fit
        ? `. The books fit the anchors up to block ${fit.number}, anchored at ${fit.at.toISOString()}`
        : ". No earlier anchor fits";
      const more = misfits > 1 ? `; ${misfits} anchors do not fit in all.` : ".";
      this.#add(
        isBeyond ? "ANCHOR_BEYOND_CHAIN" : "ANCHOR_MISMATCH",
        misfit.place,
        lenderId,
        what + now + since + more,
      );
    }
    if (recorded && recorded.number > newestNumber) {
      const newest =
        newestNumber === 0n ? "none of this lender is given" : `the newest one given is block ${newestNumber}`;
      const detail =
        `Block ${recorded.number} was anchored at ${iso(recorded.anchoredAt)}, and ${newest}: the newest anchors are missing. ` +
        "Give all files, or find out who removed lines.";
      this.#add("ANCHORS_MISSING", "-", lenderId, detail);
    }
  }

  #add(code: AnchorProblemCode, id: string, lenderId: string | null, detail: string): void {
    this.#totalProblems += 1n;
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ code, table: "anchor", id, lenderId, detail });
  }
}

function iso(time: Date | null): string {
  return time?.toISOString() ?? "an unknown time";
}
