import type { Evidence, Invariant } from "./invariants/evidence.ts";
import { answersFair } from "./invariants/answers-fair.ts";
import { bookedOnce } from "./invariants/booked-once.ts";
import { bookedWhole } from "./invariants/booked-whole.ts";
import { eventsAccounted } from "./invariants/events-accounted.ts";
import { importedWhole } from "./invariants/imported-whole.ts";
import { ledgerVerifies } from "./invariants/ledger-verifies.ts";
import { linksExplained } from "./invariants/links-explained.ts";
import { nothingStuck } from "./invariants/nothing-stuck.ts";
import { reconciled } from "./invariants/reconciled.ts";
import { reversedOnce } from "./invariants/reversed-once.ts";
import { reversedWhole } from "./invariants/reversed-whole.ts";
import { sequencesGapless } from "./invariants/sequences-gapless.ts";

/** The invariants that must hold after every fault. */
export const invariants: readonly Invariant[] = [
  bookedOnce,
  bookedWhole,
  reversedOnce,
  reversedWhole,
  reconciled,
  ledgerVerifies,
  sequencesGapless,
  eventsAccounted,
  linksExplained,
  importedWhole,
  nothingStuck,
  answersFair,
];

/** A place where an invariant does not hold. */
export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}

const DETAILS_KEPT = 20;

/** Checks all invariants. Keeps only the first violations of each. */
export async function violationsIn(evidence: Evidence): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const { name, violations } of invariants) {
    const details = await violations(evidence);
    const kept = details.slice(0, DETAILS_KEPT);
    if (details.length > kept.length) kept.push(`and ${details.length - kept.length} more`);
    found.push(...kept.map((detail) => ({ invariant: name, detail })));
  }
  return found;
}
