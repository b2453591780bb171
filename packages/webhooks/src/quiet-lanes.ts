import { type EntityManager, inBatches } from "@collections/database";
import { type Lease, lease, leaseOfMany, type LeaseRequest } from "./lease.ts";
import { type Arrivals, recordArrivals } from "./record-arrivals.ts";
import { type Recorded, recordResults } from "./record-results.ts";
import type { SuspensionRule } from "./suspension.ts";

/** What lanes ask for that have little to do. */
export interface QuietLanes {
  lease(request: LeaseRequest): Promise<Lease>;
  record(arrivals: Arrivals): Promise<Recorded>;
}

/** So many lanes that a statement costs each of them little, and so few that it stays short. */
const COMPANY = { maxItems: 32, maxUnderWay: 4, fewest: 8 };

/**
 * Lets lanes share statements: a thousand lenders that are told of one event each would else have two thousand, and a
 * small one costs nearly as much as one of all. Who is alone waits for nobody. With `oneLenderABatch` nothing is shared, for
 * a database that has the rows of lenders on several nodes.
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
      run: async (requests) => (isAlone(requests) ? [await lease(em, requests[0])] : leaseOfMany(em, requests)),
    }),
    record: inBatches<Arrivals, Recorded>({
      ...COMPANY,
      kindOf,
      async run(arrivals) {
        if (!isAlone(arrivals)) return recordArrivals(em, arrivals, suspension);
        const [{ lenderId, outcomes }] = arrivals;
        return [await recordResults(em, lenderId, outcomes, suspension)];
      },
    }),
  };
}

function isAlone<Item>(items: readonly Item[]): items is [Item] {
  return items.length === 1;
}
