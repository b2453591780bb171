#!/usr/bin/env node
import { command } from "./command/command.ts";

// Whoever reads may leave early, as `head` does.
process.stdout.on("error", () => process.exit(2));

process.exitCode = await command(process.argv.slice(2), process).catch((error: unknown) => {
  process.stderr.write(`A fault of the kit itself: ${error instanceof Error ? error.stack : String(error)}\n`);
  return 2;
});
