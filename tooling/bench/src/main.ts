import { readArguments, usage, UsageError } from "./arguments.ts";
import { runSubjects } from "./run-subjects.ts";
import { runOnGivenServers } from "./given/run-on-given-servers.ts";
import { reportText } from "./report.ts";
import { subjects } from "./subjects.ts";

const given = process.env["DATABASE_URL"] || undefined;
// On the server of DATABASE_URL a signal must not end the process immediately: the process first drops the databases that it
// created there.
if (given === undefined)
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
try {
  const options = readArguments(process.argv.slice(2), subjects);
  if (options === "help") {
    process.stdout.write(usage(subjects));
  } else if (given !== undefined) {
    process.stdout.write(
      `${await runOnGivenServers(options, [given, ...(options.beside ? [options.beside] : [])], log)}\n`,
    );
  } else if (options.beside !== undefined) {
    throw new UsageError("--beside needs DATABASE_URL, the first of the two servers.");
  } else {
    const { results, failed } = await runSubjects(options, log);
    if (results) {
      const text = options.json ? JSON.stringify(results, null, 2) : reportText(results, options.subjects);
      process.stdout.write(`${text}\n`);
    } else if (options.showsOnly) {
      process.stderr.write("There are no results yet.\n");
    }
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage(subjects)}`);
  process.exitCode = 2;
}

function log(message: string): void {
  process.stderr.write(`${(performance.now() / 1_000).toFixed(0).padStart(5)} s  ${message}\n`);
}
