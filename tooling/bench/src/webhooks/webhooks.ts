import type { BenchServer } from "../server/bench-server.ts";
import type { Books } from "../books/books.ts";
import { type Child, startChild } from "../load/child.ts";
import { type IsolationFigures, measureIsolation } from "./isolation.ts";
import { type LeaseGrowth, measureLeaseGrowth } from "./lease-growth.ts";
import { startNaiveSender } from "./naive-sender.ts";
import type { Loans } from "../load/payment.ts";
import type { WebhookPlan } from "../plan.ts";
import type { Callbacks } from "./receiver.ts";
import type { LenderRole, Sender } from "./sender.ts";
import { type ServiceSender, startServiceSender } from "./service-sender.ts";
import { measureThroughput, measureUnevenThroughput, type ThroughputFigures, throughputRound } from "./throughput.ts";

/**
 * The delivery of events to lenders by the service, compared with the usual solution on pg-boss (`naive`) and with a
 * program that only posts and uses no database (`bare`).
 */
export interface WebhookFigures {
  readonly throughput: ThroughputFigures;
  readonly unevenThroughput: ThroughputFigures;
  readonly isolation: { readonly service: IsolationFigures; readonly naive: IsolationFigures };
  readonly lease: LeaseGrowth;
}

export interface WebhookBench {
  readonly plan: WebhookPlan;
  readonly server: BenchServer;
  readonly books: Books;
  /** The loans of each lender, by the lender's role. */
  readonly loans: Readonly<Record<LenderRole, Loans>>;
  /** The URL of a database that contains the lenders and loans. Nothing else uses this database. */
  readonly databaseUrl: string;
  /** The name of a database that also contains the lenders and loans. Copies are made of it. */
  readonly template: string;
  readonly receiver: Child;
  readonly callbacks: Callbacks;
  readonly onProgress: (message: string) => void;
}

const SAMPLE_EVENTS = 100;

/** Measures how fast events are delivered, and then how long a lease takes in growing tables. */
export async function measureWebhooks(bench: WebhookBench): Promise<WebhookFigures> {
  const { plan, server, books, loans } = bench;
  const running = await measureSenders(bench);
  const { few, many } = plan.deliveredRows;
  const { template, onProgress } = bench;
  const lenderId = books.lenderIds[loans.prompt.lenderCodes[0]!]!;
  const lease = await measureLeaseGrowth({ server, template, lenderId, few, many, rounds: plan.rounds, onProgress });
  return { ...running, lease };
}

async function measureSenders(bench: WebhookBench): Promise<Omit<WebhookFigures, "lease">> {
  const { server, databaseUrl, books, loans, callbacks } = bench;
  const naiveDatabaseUrl = await server.createDatabase("naive");
  const service = await startServiceSender({ databaseUrl, books, loans, callbacks });
  const bodies = await sampleBodies(service);
  const naive = await startNaiveSender({ databaseUrl: naiveDatabaseUrl, bodies, callbacks });
  const posts = startChild(new URL("post-load.ts", import.meta.url));
  try {
    return await measureInTurn(bench, { service, naive, posts, naiveDatabaseUrl });
  } finally {
    await Promise.all([service.close(), naive.close(), posts.stop()]);
  }
}

interface Running {
  readonly service: ServiceSender;
  readonly naive: Sender;
  readonly posts: Child;
  readonly naiveDatabaseUrl: string;
}

async function measureInTurn(
  { plan, server, databaseUrl, receiver, callbacks, onProgress }: WebhookBench,
  { service, naive, posts, naiveDatabaseUrl }: Running,
): Promise<Omit<WebhookFigures, "lease">> {
  const { rounds, events, warmUpRounds } = plan;
  const throughput = { rounds, events, service, naive, posts, receiver, callbacks, postgresPids: [server.pid] };
  onProgress("events: warming up");
  for (let round = 0; round < warmUpRounds; round += 1) await throughputRound(throughput);
  for (const url of [databaseUrl, naiveDatabaseUrl]) await server.analyze(url);
  await server.checkpoint();
  onProgress("events: a backlog");
  const throughputFigures = await measureThroughput(throughput);
  onProgress("events: a backlog with a few slow answers");
  const { uneven } = plan;
  const unevenThroughput = await measureUnevenThroughput({ ...throughput, events: uneven.events }, uneven);
  onProgress("events: single events, without and with a slow lender's backlog");
  const { streamEvents, slowBacklog } = plan;
  const isolation = await measureIsolation({ rounds, streamEvents, slowBacklog, service, naive, receiver });
  return { throughput: throughputFigures, unevenThroughput, isolation };
}

/** Returns the bodies of some payment events of the service. The usual solution on pg-boss posts the same bodies. */
async function sampleBodies(service: ServiceSender): Promise<string[]> {
  await service.hold("prompt");
  await service.commit("prompt", SAMPLE_EVENTS, 1);
  const events = await service.waiting("prompt");
  await service.resume("prompt");
  return events.map(({ body }) => body);
}
