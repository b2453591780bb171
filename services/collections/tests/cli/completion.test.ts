import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.ts";
import { scriptFor } from "../../src/cli/service/completion.ts";
import { commandsInProcess } from "../fixtures/commands.ts";

const program = await createProgram();

function isInstalled(command: string): boolean {
  return spawnSync(command, ["--version"]).error === undefined;
}

/** Returns what the shell offers for the last word of a command line. */
async function offered(shell: "bash" | "zsh", ...words: string[]): Promise<string[]> {
  // zsh calls the function with these options, and bashcompinit needs the completion system.
  const setUp = shell === "zsh" ? "autoload -Uz compinit && compinit -D -u\n" : "";
  const options = shell === "zsh" ? "emulate sh\n" : "";
  const quoted = ["collections", ...words].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  const run = `${setUp}${scriptFor(shell, program)}
${options}COMP_WORDS=(${quoted.join(" ")}); COMP_CWORD=${words.length}
_collections
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = await promisify(execFile)(shell, ["-c", run]);
  expect(stderr).toBe("");
  return stdout.trim().split("\n");
}

/** CI has zsh, see .ci/run. Elsewhere nobody has to install it to run the other tests. */
const SHELLS = (["bash", "zsh"] as const).filter(
  (shell) => shell === "bash" || process.env["CI"] || isInstalled(shell),
);

describe.each(SHELLS)("the completion script for %s", (shell) => {
  test("offers the commands that begin with the typed letters", async () => {
    expect(await offered(shell, "le")).toEqual(["lender", "ledger"]);
  });

  test("offers the commands of a group, and the options of a command", async () => {
    expect(await offered(shell, "lender", "s")).toEqual(["show", "suspend"]);
    expect(await offered(shell, "case", "list", "--h")).toEqual(["--holder", "--help"]);
    expect(await offered(shell, "--json", "payout", "d")).toEqual(["due"]);
  });

  test("offers the options of the command after its arguments and values too", async () => {
    expect(await offered(shell, "case", "assign", "ACME", "LN-1", "--sp")).toEqual(["--spread"]);
    expect(await offered(shell, "lender", "update", "show", "--keep")).toEqual(["--keep-personal-data"]);
  });

  test("offers nothing for an unknown word, so that the shell completes the name of a file", async () => {
    expect(await offered(shell, "case", "import", "nov")).toEqual([""]);
  });

  test("runs nothing of what was typed", async () => {
    expect(await offered(shell, "lender", "$(touch /tmp/never)", "`id`;echo x", "s")).toEqual(["show", "suspend"]);
  });
});

test("completion prints the script, with --json as a JSON document, and refuses another shell", async () => {
  const cli = commandsInProcess({ DATABASE_URL: "postgres://127.0.0.1:1/nowhere" });
  const script = scriptFor("bash", program);
  expect(await cli("completion", "bash")).toMatchObject({ code: 0, stdout: `${script}\n` });
  expect(await cli.json("completion", "zsh")).toEqual({ shell: "zsh", script: scriptFor("zsh", program) });
  expect(await cli("completion", "fish")).toMatchObject({ code: 2 });
});
