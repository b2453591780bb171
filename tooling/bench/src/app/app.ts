import { randomUUID } from "node:crypto";
import type { BenchServer } from "../server/bench-server.ts";
import { fillBooks } from "../books/books.ts";
import { type ListReport, measureCaseList } from "./case-list.ts";
import { type Child, startChild } from "../load/child.ts";
import { askGraphql } from "./graphql-call.ts";
import { type HostileFigures, measureHostile } from "./hostile.ts";
import type { LenderQuestion, LinkQuestion, LinkTimes } from "./link-load.ts";
import type { AppPlan } from "../plan.ts";
import { operator, type Service, startService } from "../server/service.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/**
 * The figures of what the field partners' app uses: its list of cases, the time until a link is minted, and the cost of
 * GraphQL queries that are expensive to validate.
 */
export interface AppReport {
  readonly list: ListReport;
  readonly links: readonly LinkFigures[];
  readonly hostile: readonly HostileFigures[];
}

/**
 * The time from a link request until the app knows that the link is minted, minus the lender's own time: medians and
 * spreads over the rounds.
 */
export interface LinkFigures {
  readonly clients: number;
  readonly hearsBy: LinkQuestion["hearsBy"];
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  readonly othersBusy: number | undefined;
}

export interface AppBench {
  readonly plan: AppPlan;
  readonly server: BenchServer;
  readonly onProgress: (message: string) => void;
}

/**
 * How many of the field partner's cases get a live link (`LINKS`), and how many others get a promise (`PROMISES`). All
 * further cases get neither.
 */
const LINKS = 8;
const PROMISES = 6;
const WAYS = ["subscription", "polling"] as const;
const LENDER = "DOOR";
const PAGE =
  "query ($after: String) { cases(first: 100, after: $after) { edges { node { id } } pageInfo { hasNextPage endCursor } } }";
const START = "mutation ($input: StartVisitInput!) { startVisit(input: $input) { __typename } }";
const COMPLETE = "mutation ($input: CompleteVisitInput!) { completeVisit(input: $input) { __typename } }";

/**
 * Measures the service with a server and a worker as separate processes. A load process acts as the lender that mints
 * links and as the field partner.
 */
export async function measureApp(bench: AppBench): Promise<AppReport> {
  const { plan, server, onProgress } = bench;
  const loadProcess = startChild(new URL("link-load.ts", import.meta.url));
  try {
    const mintUrl = await loadProcess.ask<string>({
      ask: "listen",
      mintMs: plan.links.mintMs,
    } satisfies LenderQuestion);
    onProgress("filling the database with cases of a field partner");
    const databaseUrl = await server.createDatabase("app");
    const loans = { lenderCodes: [LENDER], perLender: plan.list.cases };
    const { fieldPartnerId } = await fillBooks(databaseUrl, [{ loans, options: [`--mint-link-url=${mintUrl}`] }]);
    const { accessToken } = await operator(databaseUrl, "field-partner", "token", fieldPartnerId);
    const used = { server, databaseUrl, accessToken: String(accessToken), rounds: plan.rounds, onProgress };
    const [service, worker] = [
      await startService({ databaseUrl, role: "server" }),
      await startService({ databaseUrl, role: "worker" }),
    ];
    let links: LinkFigures[];
    try {
      const caseIds = await visited(service, used.accessToken, loadProcess);
      links = await measureLinks({ ...bench, service, loadProcess, caseIds, accessToken: used.accessToken });
    } finally {
      await Promise.all([service.stop(), worker.stop()]);
    }
    await server.checkpoint();
    const list = await measureCaseList({ ...used, plan: plan.list });
    return { list, links, hostile: await measureHostile({ ...used, roundMs: plan.list.roundMs }) };
  } finally {
    await loadProcess.stop();
  }
}

/**
 * Prepares a field partner's cases: some with promises, some with live links, some with neither. Returns all cases'
 * ids.
 */
async function visited({ url }: Service, accessToken: string, loadProcess: Child): Promise<string[]> {
  const caseIds: string[] = [];
  for (let after: string | null = null; caseIds.length === 0 || after !== null;) {
    const page = await askGraphql(url, accessToken, PAGE, { after });
    const { edges, pageInfo } = page["cases"];
    caseIds.push(...edges.map(({ node }: { node: { id: string } }) => node.id));
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  }
  const linked = caseIds.slice(0, LINKS);
  await loadProcess.ask({
    ask: "links",
    serviceUrl: url,
    accessToken,
    caseIds: linked,
    clients: 1,
    hearsBy: "polling",
  });
  for (const caseId of caseIds.slice(LINKS, LINKS + PROMISES)) {
    const visitId = randomUUID();
    const occurredAt = new Date();
    const input = { idempotencyKey: randomUUID(), visitId, occurredAt };
    await askGraphql(url, accessToken, START, { input: { ...input, caseId } });
    const promise = { amount: { minor: "250000", currency: "INR" }, dueOn: occurredAt.toISOString().slice(0, 10) };
    await askGraphql(url, accessToken, COMPLETE, { input: { ...input, disposition: "PROMISE_TO_PAY", promise } });
  }
  return caseIds;
}

interface LinkBench extends AppBench {
  readonly service: Service;
  readonly loadProcess: Child;
  readonly caseIds: readonly string[];
  readonly accessToken: string;
}

async function measureLinks({ plan, server, service, loadProcess, caseIds, accessToken, onProgress }: LinkBench) {
  const { clients: numbers, perClient } = plan.links;
  // A case has a daily limit of links. So each link is for another case, and each round continues after the last case
  // of the previous round.
  let used = 0;
  const measure = (clients: number, hearsBy: LinkQuestion["hearsBy"]) => {
    const wanted = Array.from({ length: clients * perClient }, () => caseIds[(used += 1) % caseIds.length]!);
    const question: LinkQuestion = {
      ask: "links",
      serviceUrl: service.url,
      accessToken,
      caseIds: wanted,
      clients,
      hearsBy,
    };
    return loadProcess.ask<LinkTimes>(question);
  };
  onProgress("links: warming up");
  await measure(Math.max(...numbers), "subscription");
  await server.checkpoint();
  const figures: LinkFigures[] = [];
  for (const clients of numbers) {
    for (const hearsBy of WAYS) {
      onProgress(`links by ${hearsBy}, ${clients} at once`);
      const ours = [process.pid, server.pid];
      const watched = await leastDisturbed(plan.rounds, ours, () => measure(clients, hearsBy));
      const rounds = watched.map(({ round }) => round);
      figures.push({
        clients,
        hearsBy,
        p50Ms: spreadOf(rounds.map(({ p50Ms }) => p50Ms)),
        p99Ms: spreadOf(rounds.map(({ p99Ms }) => p99Ms)),
        othersBusy: watched.at(-1)?.othersBusy,
      });
    }
  }
  return figures;
}
