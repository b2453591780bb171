import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchServer } from "../server/bench-server.ts";
import { type Child, startChild } from "../load/child.ts";
import type { LoadResult } from "../load/closed-loop.ts";
import type { HostileLoad } from "./hostile-load.ts";
import { processorMs } from "../figures/processor-time.ts";
import { type Service, startService } from "../server/service.ts";
import { type Spread, spreadOf } from "../figures/statistics.ts";
import { leastDisturbed } from "../figures/undisturbed.ts";

/** Node's processor time for a GraphQL query that is expensive to validate: medians over the rounds. */
export interface HostileFigures {
  readonly caller: (typeof CALLERS)[number];
  readonly service: Spread;
  /** The processor time of a service that accepts only registered operations. */
  readonly only: Spread;
  /** `service` divided by `only`, in the same round. */
  readonly ratio: Spread;
}

export interface HostileBench {
  readonly rounds: number;
  readonly roundMs: number;
  readonly server: BenchServer;
  readonly databaseUrl: string;
  readonly accessToken: string;
  readonly onProgress: (message: string) => void;
}

const CALLERS = ["no token", "an unknown token", "a valid token"] as const;
const UNKNOWN_TOKEN = `fpt_${"A".repeat(43)}`;
const REGISTERED = "{ viewer { id } }";

/**
 * Measures what GraphQL queries cost that are expensive to validate. Sends them in turn to a service with the usual
 * settings and to a service that accepts only registered operations.
 */
export async function measureHostile(bench: HostileBench): Promise<HostileFigures[]> {
  const { databaseUrl, rounds, roundMs, server, accessToken, onProgress } = bench;
  await using opened = new AsyncDisposableStack();
  const folder = opened.adopt(await mkdtemp(join(tmpdir(), "operations-")), (path) => rm(path, { recursive: true }));
  const file = join(folder, "operations.json");
  const hash = createHash("sha256").update(REGISTERED).digest("hex");
  await writeFile(file, JSON.stringify({ [hash]: REGISTERED }));
  const env = { PERSISTED_OPERATIONS: "only", PERSISTED_OPERATIONS_FILE: file };
  const stop = (process: Service | Child) => process.stop();
  const service = opened.adopt(await startService({ databaseUrl, role: "server" }), stop);
  const only = opened.adopt(await startService({ databaseUrl, role: "server", env }), stop);
  const http = opened.adopt(startChild(new URL("hostile-load.ts", import.meta.url)), stop);
  const tokens = { "no token": "", "an unknown token": UNKNOWN_TOKEN, "a valid token": accessToken };
  const figures: HostileFigures[] = [];
  for (const caller of CALLERS) {
    const load = { accessToken: tokens[caller], durationMs: roundMs };
    const [code, codeOfOnly] =
      caller === "a valid token" ? ["TOO_COMPLEX", "BAD_INPUT"] : ["UNAUTHENTICATED", "UNAUTHENTICATED"];
    const round = async () => ({
      only: await measured(http, only, { ...load, url: only.url, code: codeOfOnly }),
      service: await measured(http, service, { ...load, url: service.url, code }),
    });
    onProgress(`expensive documents, ${caller}`);
    await round();
    const watched = await leastDisturbed(rounds, [process.pid, server.pid], round);
    const all = watched.map((one) => one.round);
    figures.push({
      caller,
      service: spreadOf(all.map((one) => one.service)),
      only: spreadOf(all.map((one) => one.only)),
      ratio: spreadOf(all.map((one) => one.service / one.only)),
    });
  }
  return figures;
}

/** Milliseconds of processor time per request; elapsed time if the system does not report processor time. */
async function measured(http: Child, { pid }: Service, load: HostileLoad): Promise<number> {
  const before = processorMs([pid]);
  const { completed, elapsedMs } = await http.ask<LoadResult>(load);
  const after = processorMs([pid]);
  return (before === undefined || after === undefined ? elapsedMs : after - before) / completed;
}
