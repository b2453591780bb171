import { publicId } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { type FieldPartner, fieldPartnersByIds } from "@collections/field-partners";
import type { CaseMoveOutcome } from "@collections/flows";
import type { Lender } from "@collections/lenders";
import { type CurrencyCode, toDecimal } from "@collections/money";

/** The cases that one person gets in one currency. `outstandingMinor` is in minor units. */
interface Share {
  readonly fieldPartnerId: string;
  readonly currency: CurrencyCode;
  cases: number;
  outstandingMinor: bigint;
}

type NamedShare = Share & { readonly displayName: string };

interface RejectedMove {
  readonly sourceLoanNumber: string | null;
  readonly code: string;
  readonly detail: string;
}

const MOST_IN_JSON = 1_000;

/** Counts the outcomes of moves. */
export class MoveTally {
  unassigned = 0;
  unchanged = 0;
  done = 0;
  rejectedPath: string | undefined;
  readonly rejected: RejectedMove[] = [];
  readonly #shares = new Map<string, Share>();
  #people: ReadonlyMap<string, FieldPartner> = new Map();

  add(loan: string | null, outcome: CaseMoveOutcome): void {
    this.done += 1;
    if (outcome.kind === "refused") {
      this.rejected.push({ sourceLoanNumber: loan, code: outcome.code, detail: outcome.detail });
    } else if (outcome.kind === "assigned") {
      const { assignedFieldPartnerId: fieldPartnerId, currency, outstandingMinor } = outcome.caseAfter;
      const key = `${fieldPartnerId}/${currency}`;
      const share = this.#shares.get(key) ?? {
        fieldPartnerId: fieldPartnerId!,
        currency,
        cases: 0,
        outstandingMinor: 0n,
      };
      share.cases += 1;
      share.outstandingMinor += outstandingMinor;
      this.#shares.set(key, share);
    } else this[outcome.kind] += 1;
  }

  /** Reads the names of the people who get cases. */
  async nameThePeople(em: EntityManager): Promise<void> {
    this.#people = await fieldPartnersByIds(em, [
      ...new Set([...this.#shares.values()].map(({ fieldPartnerId }) => fieldPartnerId)),
    ]);
  }

  /** The people who get cases, sorted by name, each with the number and the sum of these cases. */
  get shares(): NamedShare[] {
    return [...this.#shares.values()]
      .map((share) => ({ ...share, displayName: this.#people.get(share.fieldPartnerId)?.displayName ?? "" }))
      .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }
}

function keyOf({ displayName, fieldPartnerId, currency }: NamedShare): string {
  return `${displayName}\n${fieldPartnerId}\n${currency}`;
}

/** Returns what the moves do or did, as `--json` shows it. */
export function shownAssignment(lender: Lender, tally: MoveTally, dryRun: boolean) {
  const shares = tally.shares;
  return {
    lenderCode: lender.code,
    dryRun,
    assigned: shares.reduce((sum, { cases }) => sum + cases, 0),
    unassigned: tally.unassigned,
    unchanged: tally.unchanged,
    rejected: tally.rejected.length,
    fieldPartners: shares.map(({ fieldPartnerId, displayName, cases, outstandingMinor, currency }) => ({
      fieldPartnerId: publicId("fp", fieldPartnerId),
      displayName,
      cases,
      outstandingAmount: toDecimal(outstandingMinor, currency),
      currency,
    })),
    rejectedMoves: tally.rejected.slice(0, MOST_IN_JSON),
    rejectedFile: tally.rejectedPath ?? null,
  };
}
