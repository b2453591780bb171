import { join } from "node:path";
import type { Wish } from "./arguments.ts";
import { DATA_DIR, startBenchServer } from "./server/bench-server.ts";
import { describeMachine, loadBefore } from "./figures/machine.ts";
import { FULL_PLAN, QUICK_PLAN } from "./plan.ts";
import { type Results, readResults, writeResults } from "./results.ts";
import type { Subject } from "./subject.ts";

/** What a run has come to; a subject that could not be measured holds up no other. */
export interface Played {
  readonly results: Results | undefined;
  readonly failed: readonly string[];
}

type Tell = (message: string) => void;

/** Measures the subjects one after the other, each on a PostgreSQL of its own, and keeps what is done. */
export async function play(wish: Wish, tell: Tell): Promise<Played> {
  const file = join(DATA_DIR, wish.isQuick ? "quick.json" : "full.json");
  let results = readResults(file);
  if (wish.showsOnly) return { results, failed: [] };
  const failed: string[] = [];
  for (const subject of wish.subjects) {
    if (wish.resume && results?.subjects[subject.name]) {
      tell(`${subject.name}: measured ${results.subjects[subject.name]!.at}`);
      continue;
    }
    try {
      results = await measure(subject, wish, file, tell);
    } catch (error) {
      failed.push(subject.name);
      tell(`${subject.name} could not be measured: ${String((error as Error).stack ?? error)}`);
    }
  }
  tell(`done; ${file}`);
  return { results, failed };
}

async function measure(subject: Subject, wish: Wish, file: string, tell: Tell): Promise<Results> {
  const plan = wish.isQuick ? QUICK_PLAN : FULL_PLAN;
  const { name } = subject;
  const before = readResults(file);
  const started = { at: new Date().toISOString(), ms: performance.now(), load: loadBefore() };
  const server = await startBenchServer();
  try {
    const machine = describeMachine(server.version, DATA_DIR);
    const onProgress = (message: string) => tell(`${name}: ${message}`);
    const begun = wish.resume ? before?.begun?.[name] : undefined;
    const keep = (report: unknown) => {
      writeResults(file, { subjects: {}, ...before, machine, plan, begun: { ...before?.begun, [name]: report } });
    };
    const report = await subject.measure({ plan, server, onProgress, begun, keep });
    const seconds = Math.round((performance.now() - started.ms) / 1_000);
    const result = { at: started.at, seconds, loadBefore: started.load, report };
    const { [name]: _, ...stillBegun } = before?.begun ?? {};
    const subjects = { ...before?.subjects, [name]: result };
    const results = { machine, plan, subjects, begun: stillBegun };
    writeResults(file, results);
    return results;
  } finally {
    await server.stop();
  }
}
