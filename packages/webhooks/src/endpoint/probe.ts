import { allLendersStatement, type EntityManager, query, queryReachable, statement } from "@collections/database";
import { type AttemptError, type AttemptResult, makeAttempt, type WebhookSender } from "./attempt.ts";
import { type Recipient, recipientOf } from "./recipient.ts";
import { recoverEndpoint } from "./recover.ts";
import type { Ping } from "./test-endpoint.ts";

/** A fault of our own network says nothing about the endpoint, so the next probe comes soon. */
const AFTER_OWN_FAULT_MS = 60_000;
/**
 * A claim lasts this much longer than the probe's timeout. Then its process is considered dead, and another
 * process makes the probe.
 */
const CLAIM_BEYOND_TIMEOUT_MS = 15_000;
const PROBES_AT_A_TIME = 64;

/** Everything that `probeDue` needs to ping suspended endpoints. */
export interface Prober {
  readonly em: () => EntityManager;
  readonly sender: WebhookSender;
  /** Makes the ping for an endpoint of a tenant: an event id, and a body that contains the id. */
  readonly pingOf: (tenantId: string, endpoint?: string) => Ping | Promise<Ping>;
  readonly probeIntervalMs: number;
  readonly onProbe?: (probed: ProbeFacts) => void;
}

/** The result of a probe. `error` is null if the probe passed. */
export interface ProbeFacts extends Recipient {
  readonly passed: boolean;
  readonly error: AttemptError | null;
  readonly durationMs: number;
}

interface ClaimedProbe {
  readonly url: string;
  readonly claimedUntil: Date;
}

/**
 * Pings suspended endpoints whose probe is due, 64 at most. A 2xx ends the suspension. Any number of processes may call
 * this at the same time: each probe is claimed by one of them. Returns how many probes were made. If some could not be made,
 * throws an AggregateError after all others are done. contract: Retry and suspension, probing while suspended
 */
export async function probeDue(prober: Prober): Promise<number> {
  const due = await queryReachable<{ lenderId: string }>(prober.em(), selectDue, [PROBES_AT_A_TIME]);
  const probes = await Promise.allSettled(due.map(({ lenderId }) => claimAndMake(prober, lenderId)));
  const errors = probes.flatMap((probe): unknown[] => (probe.status === "rejected" ? [probe.reason] : []));
  if (errors.length > 0)
    throw new AggregateError(errors, `${errors.length} of ${due.length} probes could not be made.`);
  return probes.filter((probe) => probe.status === "fulfilled" && probe.value).length;
}

/** Returns false if another process has claimed the probe. */
async function claimAndMake(prober: Prober, lenderId: string): Promise<boolean> {
  const claimMs = prober.sender.timeoutMs + CLAIM_BEYOND_TIMEOUT_MS;
  const [claimed] = await query<ClaimedProbe>(prober.em(), claimProbe, [lenderId, claimMs]);
  if (claimed) await makeProbe(prober, lenderId, claimed);
  return claimed !== undefined;
}

async function makeProbe(prober: Prober, lenderId: string, { url, claimedUntil }: ClaimedProbe): Promise<void> {
  const recipient = await recipientOf(prober.em(), lenderId);
  const { eventId, body } = await prober.pingOf(recipient.tenantId, recipient.endpoint);
  const attempt = { ...recipient, url, eventId, kind: "ping", number: 1, body };
  const result = await makeAttempt(prober.sender, attempt);
  if (result.outcome === "abandoned") return;
  const passed = result.outcome === "delivered";
  if (passed) await recoverEndpoint(prober.em(), lenderId, { url });
  else await query(prober.em(), recordProbe, [lenderId, claimedUntil, pauseMs(prober, result), textOf(result.error)]);
  prober.onProbe?.({ ...recipient, passed, error: result.error, durationMs: result.durationMs });
}

function pauseMs({ probeIntervalMs }: Prober, { ownFault }: AttemptResult): number {
  return ownFault ? Math.min(AFTER_OWN_FAULT_MS, probeIntervalMs) : probeIntervalMs;
}

function textOf(error: AttemptError | null): string | null {
  return error && `${error.code}: ${error.detail}`;
}

const selectDue = allLendersStatement(
  "webhooks.due-probes",
  { ofSome: "lender_id = any ($2::uuid[])" },
  (areTheLenders) => `select lender_id as "lenderId" from webhooks.endpoint
   where ${areTheLenders} and state = 'suspended' and url is not null and next_probe_at <= now()
   order by next_probe_at
   limit $1`,
);

// The time is in whole milliseconds, because `recordProbe` compares it with the value that JavaScript has read. A
// locked row is skipped, because the other transaction claims the probe or changes the endpoint.
const claimProbe = statement(
  "webhooks.claim-probe",
  `with due as materialized (
     select id from webhooks.endpoint
     where lender_id = $1 and state = 'suspended' and url is not null and next_probe_at <= now()
     for update skip locked
   )
   update webhooks.endpoint e
   set next_probe_at = date_trunc('milliseconds', now()) + $2 * interval '1 millisecond'
   from due where e.lender_id = $1 and e.id = due.id
   returning e.url, e.next_probe_at as "claimedUntil"`,
);

const recordProbe = statement(
  "webhooks.record-probe",
  `update webhooks.endpoint
   set probed_at = now(), probe_error = $4, next_probe_at = now() + $3 * interval '1 millisecond', updated_at = now()
   where lender_id = $1 and state = 'suspended' and next_probe_at = $2`,
);
