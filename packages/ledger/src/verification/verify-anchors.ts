import type { EntityManager } from "@collections/database";
import { type Anchor, readAnchorLine, type SignedAnchor } from "./anchor.ts";
import type { AnchorPublicKeys } from "./anchor-keys.ts";
import {
  type AnchoredLedger,
  type Block,
  blocksAt,
  type ChainCoverage,
  chainCoverages,
  type HeadToCompare,
  type RecordedAnchor,
  recordedAnchors,
} from "./anchored-books.ts";

/** The line of one anchor that was kept outside the database, and where the line was found. */
export interface AnchorLine {
  /** The place to show in problems, such as `anchors.jsonl:17`. */
  readonly place: string;
  readonly text: string;
}

/** The kinds of problem that a comparison of anchors with the hash chains can find. */
export type AnchorProblemCode =
  | "ANCHOR_MISMATCH"
  | "ANCHOR_BEYOND_CHAIN"
  | "ANCHOR_FORGED"
  | "ANCHOR_KEY_UNKNOWN"
  | "ANCHOR_NOT_RECORDED"
  | "ANCHOR_UNREADABLE"
  | "ANCHORS_MISSING";

/** A problem with one anchor, or with the anchors of one book. */
export interface AnchorProblem {
  readonly code: AnchorProblemCode;
  readonly table: "anchor";
  /** The place of the anchor's line, or "-" if anchors are missing. */
  readonly id: string;
  /** The id of the book. Null if the line cannot be trusted, or if the problem is not about one book. */
  readonly book: string | null;
  readonly detail: string;
}

/** How much of a book is proven by an anchor. */
export interface ProvenBook {
  readonly book: string;
  /** The newest block that matches its anchor. All blocks before it are proven too. Null if no anchor matches. */
  readonly block: bigint | null;
  readonly hash: string | null;
  /** When `block` was created. Rows recorded later are not proven. */
  readonly chainedAt: Date | null;
  readonly anchoredAt: Date | null;
  /** The number of rows that no matching anchor covers. */
  readonly unprovenRows: bigint;
}

/** The result of a comparison with anchors. */
export interface AnchorVerification {
  readonly ok: boolean;
  /** The number of anchors with a valid signature. */
  readonly anchors: number;
  /**
   * The number of incomplete lines. A process leaves such a line if it is stopped while it writes. This is no problem,
   * because the next anchor covers the same rows.
   */
  readonly tornLines: number;
  readonly proven: readonly ProvenBook[];
  /** The first 1,000 problems. */
  readonly problems: readonly AnchorProblem[];
  readonly totalProblems: bigint;
}

/** Options of `verifyAnchors`. */
export interface VerifyAnchorsOptions {
  /** The public keys to trust. */
  readonly keys: AnchorPublicKeys;
  /** Verify this book only. Default: all books. */
  readonly book?: string;
  /** The time from which `recordedAfterMs` counts back. Default: the time of the call. */
  readonly now?: Date;
  /**
   * The database must have recorded the anchors that were made longer ago than this. Default: 15 minutes. If workers make
   * anchors less often, add their interval: a worker that was killed before it recorded an anchor repeats the anchor.
   */
  readonly recordedAfterMs?: number;
}

const RECORDED_AFTER_MS = 15 * 60_000;
const MAX_PROBLEMS = 1_000;
/** The number of chain heads in one batch. Each batch is compared in one SQL query. */
const BATCH_HEADS = 5_000;

/** Compares the hash chains of a ledger with anchors that were kept outside the database. */
export async function verifyAnchors(
  ledger: AnchoredLedger,
  em: EntityManager,
  lines: AsyncIterable<AnchorLine>,
  { keys, book, now = new Date(), recordedAfterMs = RECORDED_AFTER_MS }: VerifyAnchorsOptions,
): Promise<AnchorVerification> {
  const findings = new AnchorFindings(new Date(now.getTime() - recordedAfterMs));
  // The recorded anchors are read before the lines, so that no anchor is reported as missing by mistake. An anchor that
  // a worker makes between the two reads is then only among the lines, which is no problem. If the lines were read
  // first, this anchor would be recorded without a line.
  const recorded = await recordedAnchors(ledger, em, book);
  let batch: HeadToCompare[] = [];
  for await (const { place, text } of lines) {
    const anchor = findings.takeLine(place, text.trim(), keys);
    if (anchor === undefined) continue;
    const heads = anchor.heads.filter((head) => book === undefined || head.book === book);
    batch.push(...heads.map((head) => ({ ...head, place, at: anchor.at })));
    if (batch.length < BATCH_HEADS) continue;
    findings.compare(batch, await blocksAt(ledger, em, batch));
    batch = [];
  }
  findings.compare(batch, await blocksAt(ledger, em, batch));
  const provenBlocks = new Map([...recorded.keys()].map((id) => [id, 0n]));
  for (const [id, { newestMatch }] of findings.books) provenBlocks.set(id, newestMatch?.number ?? 0n);
  const coverages = await chainCoverages(ledger, em, book, provenBlocks);
  // The records are read again, because a worker may have recorded an anchor after the first read.
  return findings.verdict(coverages, recorded, await recordedAnchors(ledger, em, book));
}

/** A summary of the anchors of one book. Its size does not depend on the number of anchors. */
interface BookAnchors {
  newestNumber: bigint;
  /** The anchor with the highest block number among those that the database must have recorded. */
  newestRecordable?: HeadToCompare;
  /** The newest matching anchor with a lower block number than `firstMismatch`. */
  newestMatch?: HeadToCompare & { readonly chainedAt: Date | null };
  /** The anchor with the lowest block number whose hash differs from the block's. `found` is the block's hash. */
  firstMismatch?: HeadToCompare & { readonly found: string | null };
  mismatches: number;
}

class AnchorFindings {
  readonly books = new Map<string, BookAnchors>();
  #anchors = 0;
  #tornLines = 0;
  #totalProblems = 0n;
  readonly #problems: AnchorProblem[] = [];
  readonly #unknownKeys = new Map<string, { place: string; lines: number }>();
  readonly #recordedUntil: Date;

  /** `recordedUntil`: the database must have recorded the anchors that were made before this time. */
  constructor(recordedUntil: Date) {
    this.#recordedUntil = recordedUntil;
  }

  /** Returns the anchor of a line if its signature is valid; otherwise adds a problem or counts an incomplete line. */
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
        "The line is not an anchor: it was changed, or another program wrote it.",
      );
      return undefined;
    }
    return this.#isTrusted(place, signed, keys) ? signed.anchor : undefined;
  }

  #isTrusted(place: string, { keyId, signature, signedText }: SignedAnchor, keys: AnchorPublicKeys): boolean {
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
        `The signature is not valid for key ${keyId}: the line was changed or forged.`,
      );
      return false;
    }
    this.#anchors += 1;
    return true;
  }

  /** Compares each head with the block that it names. `blocks` has the same order as `heads`. */
  compare(heads: readonly HeadToCompare[], blocks: readonly Block[]): void {
    for (const [index, head] of heads.entries()) {
      const { hash: found, chainedAt } = blocks[index]!;
      const book: BookAnchors = this.books.get(head.book) ?? { newestNumber: 0n, mismatches: 0 };
      this.books.set(head.book, book);
      if (head.number > book.newestNumber) book.newestNumber = head.number;
      const isRecordable = head.at < this.#recordedUntil && head.number > (book.newestRecordable?.number ?? 0n);
      if (isRecordable) book.newestRecordable = head;
      if (found === head.hash) {
        const isBelowMismatch = book.firstMismatch === undefined || head.number < book.firstMismatch.number;
        const isNewest = head.number >= (book.newestMatch?.number ?? 0n);
        if (isBelowMismatch && isNewest) book.newestMatch = { ...head, chainedAt };
        continue;
      }
      book.mismatches += 1;
      if (head.number >= (book.firstMismatch?.number ?? head.number + 1n)) continue;
      book.firstMismatch = { ...head, found };
      if (book.newestMatch && book.newestMatch.number > head.number) delete book.newestMatch;
    }
  }

  /** `recordedBefore` and `recordedAfter` are the records of the database before and after the lines were read. */
  verdict(
    coverages: readonly ChainCoverage[],
    recordedBefore: ReadonlyMap<string, RecordedAnchor>,
    recordedAfter: ReadonlyMap<string, RecordedAnchor>,
  ): AnchorVerification {
    for (const [keyId, { place, lines }] of this.#unknownKeys) {
      const detail =
        `This line and ${lines - 1} later lines are signed with the unknown key ${keyId}. Give the public key of the ` +
        "master key that was in use at that time, or find out who signed the lines.";
      this.#add("ANCHOR_KEY_UNKNOWN", place, null, detail);
    }
    if (this.#anchors === 0) {
      this.#add("ANCHORS_MISSING", "-", null, "No anchor with a valid signature was given, so nothing is proven.");
    }
    for (const coverage of coverages) {
      this.#addProblemsOf(coverage, recordedBefore.get(coverage.book));
      this.#addUnrecorded(coverage.book, recordedAfter.get(coverage.book));
    }
    return {
      ok: this.#totalProblems === 0n,
      anchors: this.#anchors,
      tornLines: this.#tornLines,
      proven: coverages.map(({ book, unprovenRows }) => {
        const match = this.books.get(book)?.newestMatch;
        return {
          book,
          block: match?.number ?? null,
          hash: match?.hash ?? null,
          chainedAt: match?.chainedAt ?? null,
          anchoredAt: match?.at ?? null,
          unprovenRows,
        };
      }),
      problems: this.#problems,
      totalProblems: this.#totalProblems,
    };
  }

  #addProblemsOf({ book, headNumber, headAt }: ChainCoverage, recorded: RecordedAnchor | undefined): void {
    const { newestNumber = 0n, firstMismatch, mismatches = 0, newestMatch } = this.books.get(book) ?? {};
    if (firstMismatch) {
      const { number, hash, at, found, place } = firstMismatch;
      const isBeyond = found === null && number > (headNumber ?? 0n);
      const anchored = `Block ${number} was anchored at ${at.toISOString()} with hash ${hash}`;
      const chain =
        headNumber === null
          ? "there is no chain"
          : `the chain ends with block ${headNumber} (created at ${iso(headAt)})`;
      const hashNow = found === null ? "this block does not exist now" : `its hash is ${found} now`;
      const cause = isBeyond
        ? `; ${chain}. The database was restored to an earlier state, or its newest blocks were removed`
        : `; ${hashNow}. Rows or blocks were changed after that time and the chain was recomputed, ` +
          "or the database was restored to an earlier state and written to again";
      const matching = newestMatch
        ? `. The ledger matches its anchors up to block ${newestMatch.number}, anchored at ${newestMatch.at.toISOString()}`
        : ". No earlier anchor matches";
      const count = mismatches > 1 ? `; ${mismatches} anchors do not match in total.` : ".";
      const code = isBeyond ? "ANCHOR_BEYOND_CHAIN" : "ANCHOR_MISMATCH";
      this.#add(code, place, book, anchored + cause + matching + count);
    }
    if (recorded && recorded.number > newestNumber) {
      const newest =
        newestNumber === 0n
          ? "no anchor of this book was given"
          : `the newest anchor given is of block ${newestNumber}`;
      const detail =
        `Block ${recorded.number} was anchored at ${iso(recorded.anchoredAt)}, but ${newest}: the newest anchors are missing. ` +
        "Give all anchor files, or find out who removed lines.";
      this.#add("ANCHORS_MISSING", "-", book, detail);
    }
  }

  /**
   * Reports that the database does not know an anchor of this book. A restored database has lost the anchored blocks too,
   * which is reported as a mismatch.
   */
  #addUnrecorded(book: string, recorded: RecordedAnchor | undefined): void {
    const { newestRecordable: newest, firstMismatch } = this.books.get(book) ?? {};
    if (newest === undefined || firstMismatch !== undefined || newest.number <= (recorded?.number ?? 0n)) return;
    const known = recorded ? `only block ${recorded.number}, anchored at ${iso(recorded.anchoredAt)}` : "no anchor";
    const detail =
      `Block ${newest.number} was anchored at ${newest.at.toISOString()}, but the database records ${known} of this book: ` +
      "somebody changed or emptied the record of the anchors, or the worker was stopped before it recorded this anchor.";
    this.#add("ANCHOR_NOT_RECORDED", newest.place, book, detail);
  }

  #add(code: AnchorProblemCode, id: string, book: string | null, detail: string): void {
    this.#totalProblems += 1n;
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ code, table: "anchor", id, book, detail });
  }
}

function iso(time: Date | null): string {
  return time?.toISOString() ?? "an unknown time";
}
