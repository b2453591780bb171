import { type EntityManager, query, statement, defineTable, type Tx } from "@collections/database";

/**
 * A named endpoint of a tenant, and the kinds of events that it receives. `lenderId` is the tenant. `id` is the address of
 * the endpoint: the value of `lenderId` in the endpoint's own rows.
 */
export interface Subscription {
  lenderId: string;
  id: string;
  name: string;
  topics: string[];
  createdAt: Date;
}

export const subscriptions = defineTable<Subscription>("webhooks.subscription", {
  lenderId: "uuid",
  id: "uuid",
  name: "text",
  topics: "text[]",
  createdAt: "timestamptz",
});
const READ = ["id", "name", "topics"] as const;

/** The address, name and topics of a named endpoint. */
export type SubscriptionRow = Pick<Subscription, (typeof READ)[number]>;

/** Returns the named endpoints of a tenant, ordered by name. */
export async function subscriptionsOf(em: EntityManager, tenantId: string): Promise<SubscriptionRow[]> {
  return query(em, selectSubscriptions, [tenantId]);
}

/**
 * Returns the named endpoints of a tenant, ordered by name. Until the transaction ends, none of them can be removed, so no
 * event is written for an endpoint that was removed in the meantime. Their topics can be changed.
 */
export async function holdSubscriptions(tx: Tx, tenantId: string): Promise<SubscriptionRow[]> {
  return query(tx, selectAndHold, [tenantId]);
}

/** Whether one of the topics contains events of a kind. */
export function contains(topics: readonly string[], kind: string): boolean {
  return topics.some((topic) => {
    if (topic === "*") return true;
    return topic.endsWith(".*") ? kind.startsWith(topic.slice(0, -1)) : topic === kind;
  });
}

const selectSubscriptions = statement(
  "webhooks.subscriptions",
  `select ${subscriptions.selectList("s", READ)} from webhooks.subscription s where s.lender_id = $1 order by s.name`,
);

const selectAndHold = statement(
  "webhooks.hold-subscriptions",
  `select ${subscriptions.selectList("s", READ)} from webhooks.subscription s where s.lender_id = $1
   order by s.name
   for key share of s`,
);
