#!/usr/bin/env node
import { command } from "./command/command.ts";

// If the reader of stdout closes it early, as `head` does, exit with code 2 instead of crashing.
process.stdout.on("error", () => process.exit(2));

process.exitCode = await command(process.argv.slice(2), process).catch((error: unknown) => {
  process.stderr.write(`The conformance kit itself failed: ${error instanceof Error ? error.stack : String(error)}\n`);
  return 2;
});
