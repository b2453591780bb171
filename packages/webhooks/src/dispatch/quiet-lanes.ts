import { type EntityManager, inBatches } from "@collections/database";
import { type Lease, lease, leaseOfMany, type LeaseRequest } from "./lease.ts";
import { type Arrivals, type Settled, settleArrivals } from "./record-arrivals.ts";
import { type Recorded, recordResults } from "./record-results.ts";
import type { SuspensionRule } from "../endpoint/suspension.ts";

/** What lanes ask for that have little to do. */
export interface QuietLanes {
  lease(request: LeaseRequest): Promise<Lease>;
  record(arrivals: Arrivals): Promise<Recorded>;
}

/** So many lanes that a statement costs each of them little, and so few that it stays short. */
const COMPANY = { maxItems: 32, maxUnderWay: 8, minItems: 8 };

/**
 * Lets lanes share statements: a thousand lenders that are told of one event each would else have two thousand, and a
 * small one costs nearly as much as one of all. What is shared waits for no lock. With `oneLenderABatch` nothing is shared,
 * for a database that has the rows of lenders on several nodes.
 */
export function createQuietLanes(
  em: EntityManager,
  { suspension, oneLenderABatch }: { readonly suspension: SuspensionRule; readonly oneLenderABatch: boolean },
): QuietLanes {
  const record = ({ lenderId, outcomes }: Arrivals) => recordResults(em, lenderId, outcomes, suspension);
  if (oneLenderABatch) return { lease: (request) => lease(em, request), record };
  const settle = inBatches<Arrivals, Settled>({
    ...COMPANY,
    run: async (arrivals) =>
      isAlone(arrivals) ? [{ recorded: await record(arrivals[0]), left: [] }] : settleArrivals(em, arrivals),
  });
  return {
    lease: inBatches<LeaseRequest, Lease>({
      ...COMPANY,
      run: async (requests) => (isAlone(requests) ? [await lease(em, requests[0])] : leaseOfMany(em, requests)),
    }),
    async record(arrivals) {
      const { recorded, left } = await settle(arrivals);
      if (left.length === 0) return recorded;
      const rest = await record({ ...arrivals, outcomes: left });
      const written = new Set([...recorded.written, ...rest.written]);
      return { ...rest, written, isFollowed: recorded.isFollowed || rest.isFollowed };
    },
  };
}

function isAlone<Item>(items: readonly Item[]): items is [Item] {
  return items.length === 1;
}
