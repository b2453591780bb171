#!/usr/bin/env node
import { command } from "./command/command.ts";

// The reader of stdout may close it early, as `head` does.
process.stdout.on("error", () => process.exit(2));

process.exitCode = await command(process.argv.slice(2), process).catch((error: unknown) => {
  process.stderr.write(`The conformance kit itself failed: ${error instanceof Error ? error.stack : String(error)}\n`);
  return 2;
});
