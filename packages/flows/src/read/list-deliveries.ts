import type { EntityManager } from "@collections/entities";
import { type DeliveryFilter, type DeliveryPage, listDeliveries } from "@collections/webhooks";

/** Which deliveries of each lender to list. */
export type DeliverySearch = Omit<DeliveryFilter, "tenantId" | "lenderId" | "limit"> & {
  /** The maximum number of deliveries, 1 or more. */
  readonly limit: number;
};

/**
 * Returns a page of the deliveries to some lenders, newest first. Makes one query for each lender, because the primary key
 * begins with the lender: one query for all lenders would read every delivery.
 *
 * @example
 * const { deliveries, nextCursor } = await deliveriesOfLenders(em, [lender], { states: ["parked"], limit: 50 }, now);
 */
export async function deliveriesOfLenders(
  em: EntityManager,
  lenders: readonly { readonly id: string }[],
  search: DeliverySearch,
  now: Date,
): Promise<DeliveryPage> {
  const pages: DeliveryPage[] = [];
  for (const { id } of lenders) pages.push(await listDeliveries(em, { ...search, tenantId: id }, now));
  const found = pages.flatMap(({ deliveries }) => deliveries);
  const newest = found.toSorted((a, b) => (a.eventId < b.eventId ? 1 : -1)).slice(0, search.limit);
  const hasMore = found.length > newest.length || pages.some(({ nextCursor }) => nextCursor !== null);
  return { deliveries: newest, nextCursor: hasMore ? (newest.at(-1)?.eventId ?? null) : null };
}
