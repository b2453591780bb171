import { expect, vi } from "vitest";
import { runCommand } from "../src/cli/run-command.ts";
import { type Cli, type CommandResult, type Settings, withDirectUrl } from "./processes.ts";

/** As `operatorsCli`, but in this process and one command after the other: it takes a tenth of the time. */
export function commandsHere(settings: Settings): Cli {
  let last: Promise<unknown> = Promise.resolve();
  async function cli(...args: string[]): Promise<CommandResult> {
    const result = last.then(() => runHere(settings, args));
    last = result;
    return result;
  }
  return Object.assign(cli, {
    async json(...args: string[]) {
      const { code, stdout, stderr } = await cli(...args, "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return JSON.parse(stdout) as Record<string, unknown>;
    },
  });
}

async function runHere(settings: Settings, args: string[]): Promise<CommandResult> {
  const given = { MASTER_KEY: "a".repeat(64), OUTBOUND_ALLOW: "127.0.0.1:*", ...withDirectUrl(settings) };
  for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value);
  const { argv } = process;
  process.argv = [...argv.slice(0, 2), ...args];
  const output = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi.spyOn(process[stream], "write").mockImplementation((text) => {
      output[stream] += String(text);
      return true;
    }),
  );
  try {
    await runCommand();
    return { code: Number(process.exitCode ?? 0), ...output };
  } finally {
    process.exitCode = undefined;
    process.argv = argv;
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}
