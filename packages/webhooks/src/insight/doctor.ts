import { type EntityManager, query, readSnapshot, statement } from "@collections/database";
import { diagnoseEndpoint, diagnosePartitions, type WebhookProblem } from "./diagnosis.ts";
import { factsOfEndpoint, selectEndpoints, type EndpointRow } from "./doctor-facts.ts";
import type { EndpointState } from "../endpoint/endpoint.ts";
import type { UndeliveredEvent } from "./backlog.ts";
import { partitionStates } from "../storage/partitions.ts";
import { type DeliveryTotals, holdEvents } from "./verification.ts";

/** One lender's webhooks at the time of the check. */
export interface LenderWebhooks extends DeliveryTotals {
  readonly lenderId: string;
  readonly url: string | null;
  readonly state: EndpointState;
  readonly suspendedAt: Date | null;
  readonly oldestUndelivered: UndeliveredEvent | null;
}

/** The state of the webhooks of one lender or of all lenders, and the problems found. */
export interface WebhookReport {
  /** The time of the report, by the database's clock. */
  readonly at: Date;
  readonly lenders: readonly LenderWebhooks[];
  /** The problems of each lender in turn, then those that belong to no lender. */
  readonly problems: readonly WebhookProblem[];
}

/** Which lender to check, and a progress callback. */
export interface CheckOptions {
  /** Default: all lenders. Partitions are checked only for all lenders. */
  readonly lenderId?: string | undefined;
  /** Called before each lender. */
  readonly onProgress?: (progress: { readonly lenderId: string; readonly done: number; readonly of: number }) => void;
}

/** The time limit of a query. One query counts all events of a lender, and no request waits for it. */
const LONG_QUERY_MS = 300_000;

/**
 * Finds work that workers have not done in time, rows that contradict each other, and lenders that get no events. It
 * changes nothing, and reads one consistent view of the rows. Takes a few seconds per million events.
 *
 * @example
 * const { problems } = await checkWebhooks(em, { lenderId });
 * const faults = problems.filter(({ severity }) => severity === "fault");
 * for (const { code, count, detail } of faults) console.error(code, count, detail);
 */
export async function checkWebhooks(em: EntityManager, options: CheckOptions = {}): Promise<WebhookReport> {
  const { lenderId, onProgress } = options;
  return readSnapshot(em, async (tx) => {
    await holdEvents(tx);
    await query(tx, allowLongStatements, [String(LONG_QUERY_MS)]);
    const [clock] = await query<{ now: Date }>(tx, selectNow, []);
    const endpoints = await query<EndpointRow>(tx, selectEndpoints, [lenderId ?? null]);
    const lenders: LenderWebhooks[] = [];
    const problems: WebhookProblem[] = [];
    for (const [done, endpoint] of endpoints.entries()) {
      onProgress?.({ lenderId: endpoint.lenderId, done, of: endpoints.length });
      const facts = await factsOfEndpoint(tx, endpoint, LONG_QUERY_MS);
      const { url, state, suspendedAt } = endpoint;
      const { oldestUndelivered = null, totals } = facts;
      lenders.push({ lenderId: endpoint.lenderId, url, state, suspendedAt, oldestUndelivered, ...totals });
      problems.push(...diagnoseEndpoint(facts, clock!.now));
    }
    if (lenderId === undefined) problems.push(...diagnosePartitions(await partitionStates(tx), clock!.now));
    return { at: clock!.now, lenders, problems };
  });
}

const allowLongStatements = statement("webhooks.doctor-allow-long", `select set_config('statement_timeout', $1, true)`);

const selectNow = statement("webhooks.doctor-now", `select now() as now`);
