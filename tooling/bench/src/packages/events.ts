import { type Child, startChild } from "../load/child.ts";
import type { PackagesPlan } from "../plan.ts";
import type { BenchServer } from "../server/bench-server.ts";
import { type IsolationFigures, measureIsolation } from "../webhooks/isolation.ts";
import { startNaiveSender } from "../webhooks/naive-sender.ts";
import type { Callbacks, ReceiverQuestion } from "../webhooks/receiver.ts";
import type { Sender } from "../webhooks/sender.ts";
import { drain, gather } from "../webhooks/throughput.ts";
import { BODY, BY_HAND, OURS, startNaiveEvents, startOurEvents } from "./event-program.ts";
import { measureRow, rateOf, type Row } from "./measured-row.ts";
import { startPackageSender } from "./package-sender.ts";

/** `@collections/webhooks` beside pg-boss by hand. */
export interface EventReport {
  /** Changes of a host that are committed with an event. */
  readonly commits: readonly Row[];
  /** Events of a backlog that are delivered to one endpoint. */
  readonly backlog: Row;
  /** The time from commit to receipt, alone and beside a backlog of a slow endpoint. */
  readonly latency: { readonly ours: IsolationFigures; readonly byHand: IsolationFigures };
}

export interface EventBench {
  readonly plan: PackagesPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

/** Measures commits with events and their delivery. Fails if a program has another number of events than of changes. */
export async function measureEvents(bench: EventBench): Promise<EventReport> {
  const receiver = startChild(new URL("../webhooks/receiver.ts", import.meta.url));
  try {
    const callbacks = await receiver.ask<Callbacks>({ ask: "callbacks" } satisfies ReceiverQuestion);
    const commits = await measureCommits(bench, callbacks);
    return { commits, ...(await measureDeliveries(bench, receiver, callbacks)) };
  } finally {
    await receiver.stop();
  }
}

async function measureCommits({ plan, server, onProgress }: EventBench, callbacks: Callbacks): Promise<Row[]> {
  onProgress("events: installing");
  const programs = [
    await startOurEvents(await server.createDatabase("our_events"), callbacks),
    await startNaiveEvents(await server.createDatabase("naive_events"), callbacks),
  ];
  const pids = [process.pid, server.pid];
  const rate = (clients: number, durationMs: number) => (program: (typeof programs)[number]) =>
    rateOf(() => program.commit("prompt"), { clients, durationMs, pids });
  try {
    onProgress("events: a change and its event");
    for (const program of programs) await rate(Math.max(...plan.clients), plan.warmUpMs)(program);
    await server.checkpoint();
    const rows: Row[] = [];
    for (const clients of plan.clients) {
      const row = { what: "changes committed with an event", clients, rounds: plan.rounds, place: rows.length, pids };
      rows.push(await measureRow({ ...row, programs, measure: rate(clients, plan.roundMs) }));
    }
    for (const program of programs) {
      const { changes, events } = await program.counts();
      if (changes !== events) throw new Error(`${program.name} has ${changes} changes and ${events} events.`);
    }
    return rows;
  } finally {
    await Promise.all(programs.map((program) => program.close()));
  }
}

async function measureDeliveries(
  { plan, server, onProgress }: EventBench,
  receiver: Child,
  callbacks: Callbacks,
): Promise<Omit<EventReport, "commits">> {
  const databaseUrls = [await server.createDatabase("our_deliveries"), await server.createDatabase("naive_deliveries")];
  const ours = await startPackageSender(databaseUrls[0]!, callbacks);
  const byHand = await startNaiveSender({ databaseUrl: databaseUrls[1]!, bodies: [BODY], callbacks });
  const programs = [
    { name: OURS, sender: ours },
    { name: BY_HAND, sender: byHand },
  ];
  const backlog = async ({ sender }: { readonly sender: Sender }) => {
    await gather(sender, plan.events);
    return drain({ events: plan.events, receiver, postgresPids: [server.pid] }, sender);
  };
  try {
    onProgress("events: a backlog");
    for (const program of programs) await backlog(program);
    for (const url of databaseUrls) await server.analyze(url);
    await server.checkpoint();
    const row = { what: "events of a backlog delivered", clients: 1, rounds: plan.rounds, place: 0 };
    const pids = [process.pid, server.pid];
    const delivered = await measureRow({ ...row, pids, programs, measure: backlog });
    onProgress("events: single events, without and with a slow endpoint's backlog");
    const { streamEvents, slowBacklog, latencyRounds: rounds } = plan;
    const sides = { service: ours, naive: byHand };
    const latency = await measureIsolation({ rounds, streamEvents, slowBacklog, ...sides, receiver });
    return { backlog: delivered, latency: { ours: latency.service, byHand: latency.naive } };
  } finally {
    await Promise.all([ours.close(), byHand.close()]);
  }
}
