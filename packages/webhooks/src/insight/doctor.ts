import { type EntityManager, query, readSnapshot, statement } from "@collections/database";
import { diagnoseEndpoint, diagnosePartitions, type WebhookProblem } from "./diagnosis.ts";
import { factsOfEndpoint, selectEndpoints, type EndpointRow } from "./doctor-facts.ts";
import type { EndpointState } from "../endpoint/endpoint.ts";
import type { UndeliveredEvent } from "./backlog.ts";
import { partitionStates } from "../storage/partitions.ts";
import { type DeliveryTotals, holdEvents } from "./verification.ts";

/** One lender's webhooks at the moment of the check. */
export interface LenderWebhooks extends DeliveryTotals {
  readonly lenderId: string;
  readonly url: string | null;
  readonly state: EndpointState;
  readonly suspendedAt: Date | null;
  readonly oldestUndelivered: UndeliveredEvent | null;
}

/** How the webhooks of all lenders are, or those of one, and what is wrong with them. */
export interface WebhookReport {
  /** The moment, by the database's clock: everything in the report is of then. */
  readonly at: Date;
  readonly lenders: readonly LenderWebhooks[];
  /** Of each lender in turn, and last what is nobody's alone. */
  readonly problems: readonly WebhookProblem[];
}

/** Whom a check is about, and who hears how far it is. */
export interface CheckOptions {
  /** Default: all. The tables as a whole are only looked at without it. */
  readonly lenderId?: string | undefined;
  /** Told before each lender. */
  readonly onProgress?: (progress: { readonly lenderId: string; readonly done: number; readonly of: number }) => void;
}

/** One statement counts all events of a lender: no request waits for it. */
const LONG_STATEMENT_MS = 300_000;

/**
 * Looks for what workers should have done and have not, for rows that do not fit each other, and for lenders who get
 * no events. Reads only, all of it as of one moment; it takes some seconds per million events.
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
    await query(tx, allowLongStatements, [String(LONG_STATEMENT_MS)]);
    const [clock] = await query<{ now: Date }>(tx, selectNow, []);
    const endpoints = await query<EndpointRow>(tx, selectEndpoints, [lenderId ?? null]);
    const lenders: LenderWebhooks[] = [];
    const problems: WebhookProblem[] = [];
    for (const [done, endpoint] of endpoints.entries()) {
      onProgress?.({ lenderId: endpoint.lenderId, done, of: endpoints.length });
      const facts = await factsOfEndpoint(tx, endpoint, LONG_STATEMENT_MS);
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
