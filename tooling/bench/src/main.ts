import { readArguments, usage, UsageError } from "./arguments.ts";
import { play } from "./play.ts";
import { playGiven } from "./given/play-given.ts";
import { reportText } from "./report.ts";
import { subjects } from "./subjects.ts";

const given = process.env["DATABASE_URL"] || undefined;
// On a given server the databases that were made there are dropped first.
if (given === undefined)
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
try {
  const wish = readArguments(process.argv.slice(2), subjects);
  if (wish === "help") {
    process.stdout.write(usage(subjects));
  } else if (given !== undefined) {
    process.stdout.write(`${await playGiven(wish, [given, ...(wish.beside ? [wish.beside] : [])], tell)}\n`);
  } else if (wish.beside !== undefined) {
    throw new UsageError("--beside needs DATABASE_URL: the server that is measured beside it.");
  } else {
    const { results, failed } = await play(wish, tell);
    if (results) {
      const text = wish.json ? JSON.stringify(results, null, 2) : reportText(results, wish.subjects);
      process.stdout.write(`${text}\n`);
    } else if (wish.showsOnly) {
      process.stderr.write("Nothing has been measured yet.\n");
    }
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage(subjects)}`);
  process.exitCode = 2;
}

function tell(message: string): void {
  process.stderr.write(`${(performance.now() / 1_000).toFixed(0).padStart(5)} s  ${message}\n`);
}
