import { expect, test } from "vitest";
import { readArguments, UsageError } from "./arguments.ts";
import type { Subject } from "./subject.ts";

const subjects = ["confirmations", "growth"].map((name) => ({ name, isLong: name === "growth" }) as Subject);

const namesOf = (...args: string[]) => {
  const options = readArguments(args, subjects);
  return options === "help" ? options : options.subjects.map(({ name }) => name);
};

test("selects every subject except the long ones if the command line names none", () => {
  expect(namesOf("--quick")).toEqual(["confirmations"]);
  expect(namesOf("growth")).toEqual(["growth"]);
});

test("--table shows the long subjects too", () => {
  expect(namesOf("--table")).toEqual(["confirmations", "growth"]);
});

test("rejects an unknown subject or option and names it", () => {
  expect(() => namesOf("confirmation")).toThrow(new UsageError("There is no subject named confirmation. See --help."));
  expect(() => namesOf("--fast")).toThrow(UsageError);
});

test("reads the URL of a second server", () => {
  expect(readArguments(["confirmations", "--beside", "postgres://there/x"], subjects)).toMatchObject({
    beside: "postgres://there/x",
  });
  expect(readArguments(["confirmations"], subjects)).toMatchObject({ beside: undefined });
});
