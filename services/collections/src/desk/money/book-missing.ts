import { publicId, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { confirmMissing, type KnownSequences, type UnconfirmedRow } from "@collections/flows";
import { type Lender, recordAct } from "@collections/lenders";

/** How many of the missing payments were booked, and which were not. */
export interface Confirmed {
  readonly booked: number;
  /** The number of missing payments that another process booked after the comparison. */
  readonly alreadyBooked: number;
  readonly refusedCount: number;
  readonly refused: readonly UnconfirmedRow[];
}

/** The payments that a stored comparison found only in the lender's file, and who asked to book them and why. */
export interface MissingToBook {
  readonly lender: Lender;
  readonly runId: string;
  /** The digest of the comparison that was shown. */
  readonly digest: Buffer | null;
  /** The number of missing payments. */
  readonly missing: number;
  readonly reason: string | undefined;
  /** Facts about the file, which the audit records. */
  readonly file: Readonly<Record<string, unknown>>;
  readonly known: KnownSequences;
  /** Lines that are booked although their amounts look like minor units. */
  readonly inMajorUnits: ReadonlySet<number>;
  readonly environment: string;
}

interface BookingRun {
  /** The most refused rows that are returned. */
  readonly mostRefused: number;
  /** Writes more in the transaction that records the beginning. If it throws, nothing is booked. */
  readonly alsoWrite?: ((tx: Tx) => Promise<void>) | undefined;
}

/**
 * Books the missing payments of a comparison, and records the beginning and the end in the audit. A repeat books the
 * payments that an interrupted booking has left, each once. Throws ReconciliationChangedError.
 */
export async function bookMissing(
  em: () => EntityManager,
  { lender, runId, digest, missing, reason, file, known, inMajorUnits, environment }: MissingToBook,
  { mostRefused, alsoWrite }: BookingRun,
): Promise<Confirmed> {
  const lenderId = lender.id;
  const named = { runId: publicId("rec", runId), digest: digest?.toString("hex"), ...file };
  const audit = (tx: Tx, act: string, data: object) =>
    recordAct(tx, { lenderId, act, reason, data: { ...named, ...data } });
  await transaction(em(), async (tx) => {
    await alsoWrite?.(tx);
    audit(tx, "reconciliation.confirm_started", { missing });
  });
  const total = { booked: 0, alreadyBooked: 0 };
  const refused: UnconfirmedRow[] = [];
  const rules = { environment, known, inMajorUnits };
  for await (const page of confirmMissing(em(), { lenderId, runId, digest }, lender, rules)) {
    total.booked += page.booked;
    total.alreadyBooked += page.alreadyBooked;
    refused.push(...page.refused.slice(0, mostRefused - refused.length));
  }
  const refusedCount = missing - total.booked - total.alreadyBooked;
  await transaction(em(), async (tx) => {
    audit(tx, "reconciliation.confirmed", { ...total, refused: refusedCount });
  });
  return { ...total, refusedCount, refused };
}
