import { expect, test } from "vitest";
import { CommandError, run } from "./command.ts";

const FAILS = "console.log('the reason'); console.error('a warning'); process.exitCode = 3;";

test("the error of a failed program has its exit code and its output", async () => {
  const error: unknown = await run(process.execPath, ["--eval", FAILS]).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandError);
  expect(error).toMatchObject({ exitCode: 3, stdout: "the reason\n", stderr: "a warning\n" });
  expect(String(error)).toMatch(/ failed: 3\na warning\n\nthe reason\n$/);
});

test("the error names a program that cannot be started", async () => {
  await expect(run("no-such-program", ["--now"])).rejects.toThrow("no-such-program --now failed: ENOENT");
});
