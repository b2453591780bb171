import { fillBooks } from "../books/books.ts";
import { type Child, startChild } from "../load/child.ts";
import type { GivenServer } from "../server/given-server.ts";
import type { Loans } from "../load/payment.ts";
import type { WebhookPlan } from "../plan.ts";
import type { Callbacks, ReceiverQuestion } from "../webhooks/receiver.ts";
import { type ServiceSender, startServiceSender } from "../webhooks/service-sender.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { busyText, rateText, ratioText, table } from "../figures/text-table.ts";
import { type Drain, drain, gather, type Pace, paceOf, postAll } from "../webhooks/throughput.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/**
 * How fast the service delivers a backlog on each existing server (`DATABASE_URL` and `--beside`), compared with a
 * program that only posts the same events and uses no database (`bare`).
 */
export interface GivenWebhookFigures {
  /** One entry per server, in the order of the servers. */
  readonly sides: readonly { readonly service: Pace; readonly bare: Pace; readonly toBare: Spread }[];
  /** The ratio of the first server's rate to the second's in the same round; undefined with one server. */
  readonly ratio: Spread | undefined;
  readonly othersBusy: number | undefined;
}

interface Place {
  readonly server: GivenServer;
  readonly receiver: Child;
  readonly callbacks: Callbacks;
  readonly service: ServiceSender;
  readonly posts: Child;
}

interface Drained {
  readonly service: Drain;
  readonly bare: Drain;
}

/** Measures the delivery of payment events to a lender by a worker on each of the servers, in turn. */
export async function measureGivenWebhooks(
  servers: readonly GivenServer[],
  plan: WebhookPlan,
  onProgress: (message: string) => void,
): Promise<GivenWebhookFigures> {
  const places: Place[] = [];
  try {
    for (const server of servers) {
      onProgress(`filling a database on ${server.topology}`);
      places.push(await openPlace(server, plan));
    }
    onProgress("warming up");
    for (let count = 0; count < plan.warmUpRounds; count += 1) await round(places, plan.events, count);
    for (const { server } of places) await server.checkpoint();
    onProgress("events of a backlog");
    let rounds = 0;
    const pids = [process.pid, ...servers.flatMap((server) => server.pids)];
    const watched = await leastDisturbed(plan.rounds, pids, () => round(places, plan.events, (rounds += 1)));
    const bySide = servers.map((_, index) => watched.map((one) => one.round[index]!));
    const [first, second] = bySide;
    return {
      sides: bySide.map((sides) => ({
        service: paceOf(sides.map(({ service }) => service)),
        bare: paceOf(sides.map(({ bare }) => bare)),
        toBare: spreadOf(sides.map(({ service, bare }) => service.perSecond / bare.perSecond)),
      })),
      ratio: second && spreadOf(first!.map((one, index) => one.service.perSecond / second[index]!.service.perSecond)),
      othersBusy: watched.at(-1)?.othersBusy,
    };
  } finally {
    await Promise.all(
      places.flatMap(({ service, posts, receiver }) => [service.close(), posts.stop(), receiver.stop()]),
    );
  }
}

async function openPlace(server: GivenServer, plan: WebhookPlan): Promise<Place> {
  const receiver = startChild(new URL("../webhooks/receiver.ts", import.meta.url));
  const callbacks = await receiver.ask<Callbacks>({ ask: "callbacks" } satisfies ReceiverQuestion);
  const loans: Readonly<Record<"prompt" | "slow", Loans>> = {
    prompt: { lenderCodes: ["PROMPT"], perLender: plan.loans },
    slow: { lenderCodes: ["SLOW"], perLender: 1 },
  };
  const databaseUrl = await server.createDatabase();
  const books = await fillBooks(databaseUrl, [
    { loans: loans.prompt, options: [`--callback-url=${callbacks.prompt}`] },
    { loans: loans.slow, options: [`--callback-url=${callbacks.slow}`] },
  ]);
  await server.analyze(databaseUrl);
  const service = await startServiceSender({ databaseUrl, books, loans, callbacks });
  return {
    server,
    receiver,
    callbacks,
    service,
    posts: startChild(new URL("../webhooks/post-load.ts", import.meta.url)),
  };
}

/** Delivers one backlog on each server. Every other round begins with the last server. */
async function round(places: readonly Place[], events: number, count: number): Promise<Drained[]> {
  const drained = new Map<Place, Drained>();
  for (const place of count % 2 === 0 ? places : places.toReversed()) {
    const { server, service, receiver } = place;
    await gather(service, events);
    const waiting = await service.waiting("prompt");
    if (waiting.length !== events) throw new Error(`${waiting.length} events are waiting, expected ${events}.`);
    const ofService = await drain({ events, receiver, postgresPids: server.pids }, service);
    const hasTimes = server.pids.length > 0;
    drained.set(place, {
      service: hasTimes ? ofService : { ...ofService, processorUs: undefined },
      bare: await postAll(place, waiting),
    });
  }
  return places.map((place) => drained.get(place)!);
}

/** The report as a table with a row for each server. */
export function givenWebhookText(
  servers: readonly Pick<GivenServer, "topology">[],
  { rounds, events, loans }: WebhookPlan,
  { sides, ratio, othersBusy }: GivenWebhookFigures,
): string {
  const rows = sides.map(({ service, bare, toBare }, index) => [
    index === 0 ? "first" : "second",
    rateText(service.perSecond),
    service.processorUs === undefined ? "" : rateText(service.processorUs),
    rateText(bare.perSecond),
    ratioText(toBare),
    index === 0 && ratio !== undefined ? ratioText(ratio) : "",
    index === 0 ? busyText(othersBusy) : "",
  ]);
  return [
    `${events} events of ${loans} loans delivered to a lender; ${rounds} rounds in turn`,
    ...servers.map(({ topology }, index) => `${index === 0 ? "first" : "second"}: ${topology}`),
    table("server,events a second,CPU µs per event,bare loop,÷ bare loop,first ÷ second,others", rows, "left"),
  ].join("\n");
}
