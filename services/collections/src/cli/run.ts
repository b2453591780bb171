import { runCommand } from "./run-command.ts";

// A reader such as `head` may close the pipe before the end of the output. The command still finishes its work.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

await runCommand();
