import { fileURLToPath } from "node:url";
import { readArguments, usage, UsageError } from "./arguments.ts";
import { faults } from "./faults.ts";
import { play } from "./play.ts";
import { exitCodeOf, reportText } from "./report.ts";
import { clearLeftovers } from "./processes/run-folder.ts";

const STATE_FILE = fileURLToPath(new URL("../../../.data/faults-run.json", import.meta.url));

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
try {
  const wish = readArguments(process.argv.slice(2), faults, Date.now());
  if (wish === "help") {
    process.stdout.write(usage(faults));
  } else {
    for (const folder of clearLeftovers()) tell(`cleared away what a run left in ${folder}`);
    const report = await play(wish, STATE_FILE, tell);
    // What a service that has not recovered leaves under way holds nobody up.
    const text = wish.json ? JSON.stringify(report, null, 2) : reportText(report);
    process.stdout.write(`${text}\n`, () => process.exit(exitCodeOf(report)));
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage(faults)}`);
  process.exitCode = 2;
}

function tell(message: string): void {
  process.stderr.write(`${(performance.now() / 1_000).toFixed(0).padStart(5)} s  ${message}\n`);
}
