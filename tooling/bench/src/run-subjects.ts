import { join } from "node:path";
import type { Options } from "./arguments.ts";
import { DATA_DIR, startBenchServer } from "./server/bench-server.ts";
import { describeMachine, loadBefore } from "./figures/machine.ts";
import { FULL_PLAN, QUICK_PLAN } from "./plan.ts";
import { type Results, readResults, writeResults } from "./results.ts";
import type { Subject } from "./subject.ts";

/** The results of a run. If a subject fails, the other subjects are still measured. */
export interface RunResult {
  readonly results: Results | undefined;
  readonly failed: readonly string[];
}

type Log = (message: string) => void;

/** Measures the subjects one after the other, each on its own PostgreSQL, and keeps their results. */
export async function runSubjects(options: Options, log: Log): Promise<RunResult> {
  const file = join(DATA_DIR, options.isQuick ? "quick.json" : "full.json");
  let results = readResults(file);
  if (options.showsOnly) return { results, failed: [] };
  const failed: string[] = [];
  for (const subject of options.subjects) {
    if (options.resume && results?.subjects[subject.name]) {
      log(`${subject.name}: measured ${results.subjects[subject.name]!.at}`);
      continue;
    }
    try {
      results = await measure(subject, options, file, log);
    } catch (error) {
      failed.push(subject.name);
      log(`${subject.name} could not be measured: ${String((error as Error).stack ?? error)}`);
    }
  }
  log(`done; ${file}`);
  return { results, failed };
}

async function measure(subject: Subject, options: Options, file: string, log: Log): Promise<Results> {
  const plan = options.isQuick ? QUICK_PLAN : FULL_PLAN;
  const { name } = subject;
  const before = readResults(file);
  const started = { at: new Date().toISOString(), ms: performance.now(), load: loadBefore() };
  const server = await startBenchServer();
  try {
    const machine = describeMachine(server.version, DATA_DIR);
    const onProgress = (message: string) => log(`${name}: ${message}`);
    const begun = options.resume ? before?.begun?.[name] : undefined;
    const keep = (report: unknown) => {
      writeResults(file, { subjects: {}, ...before, machine, plan, begun: { ...before?.begun, [name]: report } });
    };
    const report = await subject.measure({ plan, server, onProgress, pgledger: options.pgledger, begun, keep });
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
