import { type EntityManager, inBatches } from "@collections/database";
import { type Lease, lease, leaseOfMany, type LeaseRequest } from "./lease.ts";
import { type DeliveredResults, type PartlyRecorded, recordDelivered } from "./record-delivered.ts";
import { type Recorded, recordResults } from "./record-results.ts";
import type { SuspensionRule } from "../endpoint/suspension.ts";

/** The shared queries of quiet lanes, which are lanes with little to do. */
export interface QuietLanes {
  lease(request: LeaseRequest): Promise<Lease>;
  record(results: DeliveredResults): Promise<Recorded>;
}

/** The limits of shared queries. A query for 32 lanes costs little per lane, and is still short. */
const BATCH = { maxItems: 32, maxUnderWay: 8, minItems: 8 };

/** A lane shares its queries while it has at most this many deliveries at a time. */
const SMALL = 8;

/** Returns whether a lane with this many deliveries shares its queries. */
export function isSmall(deliveries: number): boolean {
  return deliveries <= SMALL;
}

/**
 * Creates the shared queries of quiet lanes. Without sharing, one event for each of a thousand lenders would take two
 * thousand queries, and a small query costs nearly as much as a shared one. Shared queries skip locked rows, so no
 * lender waits for another. With `oneLenderABatch`, no queries are shared: use it for a database that stores lenders'
 * rows on several nodes.
 */
export function createQuietLanes(
  em: EntityManager,
  { suspension, oneLenderABatch }: { readonly suspension: SuspensionRule; readonly oneLenderABatch: boolean },
): QuietLanes {
  const record = ({ lenderId, outcomes }: DeliveredResults) => recordResults(em, lenderId, outcomes, suspension);
  if (oneLenderABatch) return { lease: (request) => lease(em, request), record };
  const recordShared = inBatches<DeliveredResults, PartlyRecorded>({
    ...BATCH,
    run: async (results) =>
      isAlone(results) ? [{ recorded: await record(results[0]), left: [] }] : recordDelivered(em, results),
  });
  return {
    lease: inBatches<LeaseRequest, Lease>({
      ...BATCH,
      run: async (requests) => (isAlone(requests) ? [await lease(em, requests[0])] : leaseOfMany(em, requests)),
    }),
    async record(results) {
      const { recorded, left } = await recordShared(results);
      if (left.length === 0) return recorded;
      const rest = await record({ ...results, outcomes: left });
      const written = new Set([...recorded.written, ...rest.written]);
      return { ...rest, written, isFollowed: recorded.isFollowed || rest.isFollowed };
    },
  };
}

function isAlone<Item>(items: readonly Item[]): items is [Item] {
  return items.length === 1;
}
