import { fileURLToPath } from "node:url";
import { readArguments, usage, UsageError } from "./arguments.ts";
import { faults } from "./faults.ts";
import { runFaults } from "./run-faults.ts";
import { exitCodeOf, reportText } from "./report.ts";
import { clearLeftovers } from "./processes/run-folder.ts";

const STATE_FILE = fileURLToPath(new URL("../../../.data/faults-run.json", import.meta.url));

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
try {
  const options = readArguments(process.argv.slice(2), faults, Date.now());
  if (options === "help") {
    process.stdout.write(usage(faults));
  } else {
    for (const folder of clearLeftovers()) log(`removed the folder of a dead run: ${folder}`);
    const report = await runFaults(options, STATE_FILE, log);
    // Exit explicitly: requests to a service that did not recover may still be open, and would keep this process alive.
    const text = options.json ? JSON.stringify(report, null, 2) : reportText(report);
    process.stdout.write(`${text}\n`, () => process.exit(exitCodeOf(report)));
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage(faults)}`);
  process.exitCode = 2;
}

function log(message: string): void {
  process.stderr.write(`${(performance.now() / 1_000).toFixed(0).padStart(5)} s  ${message}\n`);
}
