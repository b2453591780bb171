import { runCommand } from "./run-command.ts";

await runCommand();
