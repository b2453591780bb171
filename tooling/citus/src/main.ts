import { readArguments, USAGE, UsageError } from "./arguments.ts";
import { readRegistry } from "./registry/registry.ts";
import { audit, isFault, reportText, verdictsOf } from "./audit/report.ts";
import { UnusableClusterError, makeScratchDatabase } from "./audit/scratch-database.ts";
import { VERDICTS_FILE, writeVerdicts } from "./audit/verdicts.ts";

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  try {
    const request = readArguments(args);
    if (request === "help") {
      process.stdout.write(USAGE);
      return 0;
    }
    return await run(request);
  } catch (error) {
    if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${USAGE}`);
    else if (error instanceof UnusableClusterError || isConnectionFailure(error))
      process.stderr.write(`${(error as Error).message}\n`);
    else throw error;
    return 2;
  }
}

async function run({ url, json, record }: Exclude<ReturnType<typeof readArguments>, "help">): Promise<number> {
  const [registry, scratch] = await Promise.all([readRegistry(), makeScratchDatabase(url)]);
  try {
    const report = await audit(scratch.url, registry);
    const faults = report.findings.filter(isFault);
    process.stdout.write(
      `${json ? JSON.stringify({ faults: faults.map(({ name }) => name), ...report }, null, 2) : reportText(report)}\n`,
    );
    if (record) {
      await writeVerdicts(verdictsOf(report, registry));
      process.stderr.write(`Wrote ${VERDICTS_FILE}.\n`);
    }
    process.stderr.write(`${(performance.now() / 1_000).toFixed(1)} s, ${faults.length} faults\n`);
    return faults.length > 0 || report.unknownHot.length > 0 ? 1 : 0;
  } finally {
    await scratch.drop();
  }
}

/** Whether the error means that the database cannot be reached or rejects the role. */
function isConnectionFailure(error: unknown): boolean {
  const { code = "" } = error as { code?: string };
  return /^(E[A-Z]+|08...|28...|3D000|42501)$/.test(code);
}
