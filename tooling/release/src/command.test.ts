import { expect, test } from "vitest";
import { CommandError, run } from "./command.ts";

const FAILS = "console.log('the reason'); console.error('a warning'); process.exitCode = 3;";

test("the error of a program that fails says how it ended and all that it printed", async () => {
  const error: unknown = await run(process.execPath, ["--eval", FAILS]).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandError);
  expect(error).toMatchObject({ exitCode: 3, stdout: "the reason\n", stderr: "a warning\n" });
  expect(String(error)).toMatch(/ has failed: 3\na warning\n\nthe reason\n$/);
});

test("one that cannot be started is named too", async () => {
  await expect(run("no-such-program", ["--now"])).rejects.toThrow("no-such-program --now has failed: ENOENT");
});
