import { type EntityManager, inBatches, transaction } from "@collections/database";
import { type Lease, lease, type LeaseRequest } from "./lease.ts";
import { type Outcome, type Recorded, recordResults } from "./record-results.ts";
import type { SuspensionRule } from "./suspension.ts";

/** Results of one lender, all of them delivered: what they lock, hardly anybody else does. */
export interface Arrivals {
  readonly lenderId: string;
  readonly outcomes: readonly Outcome[];
}

/** What lanes ask for that have little to do. */
export interface QuietLanes {
  lease(request: LeaseRequest): Promise<Lease>;
  record(arrivals: Arrivals): Promise<Recorded>;
}

/** So many lanes that a transaction costs each of them little, and so few that it stays short. */
const COMPANY = { maxItems: 32, maxUnderWay: 4, minBeside: 8 };

/**
 * Lets lanes share transactions: of a thousand lenders that are told of one event each, every one would else have three
 * of its own. Who is alone waits for nobody. With `oneLenderABatch` nothing is shared, for a database that has the rows of
 * lenders on several nodes.
 */
export function createQuietLanes(
  em: EntityManager,
  { suspension, oneLenderABatch }: { readonly suspension: SuspensionRule; readonly oneLenderABatch: boolean },
): QuietLanes {
  const kindOf = oneLenderABatch ? ({ lenderId }: { readonly lenderId: string }) => lenderId : undefined;
  return {
    lease: inBatches<LeaseRequest, Lease>({
      ...COMPANY,
      kindOf,
      run: (requests) => together(em, requests, (on, request) => lease(on, request)),
    }),
    record: inBatches<Arrivals, Recorded>({
      ...COMPANY,
      kindOf,
      run: (arrivals) =>
        together(em, arrivals, (on, { lenderId, outcomes }) => recordResults(on, lenderId, outcomes, suspension)),
    }),
  };
}

/** One alone is a statement that needs no transaction. Endpoints are locked in one order everywhere: by lender. */
async function together<Item extends { readonly lenderId: string }, Answer>(
  em: EntityManager,
  items: readonly Item[],
  ask: (on: EntityManager, item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const [only, another] = items;
  if (only && !another) return [await ask(em, only)];
  return transaction(em, async (tx) => {
    const inOrder = items.toSorted((a, b) => (a.lenderId < b.lenderId ? -1 : 1));
    const answers = new Map(inOrder.map((item) => [item, ask(tx, item)]));
    return Promise.all(items.map((item) => answers.get(item)!));
  });
}
