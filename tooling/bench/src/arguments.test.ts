import { expect, test } from "vitest";
import { readArguments, UsageError } from "./arguments.ts";
import type { Subject } from "./subject.ts";

const subjects = ["confirmations", "growth"].map((name) => ({ name, isLong: name === "growth" }) as Subject);

const namesOf = (...args: string[]) => {
  const wish = readArguments(args, subjects);
  return wish === "help" ? wish : wish.subjects.map(({ name }) => name);
};

test("without a name everything is measured but what takes an hour, which its name asks for", () => {
  expect(namesOf("--quick")).toEqual(["confirmations"]);
  expect(namesOf("growth")).toEqual(["growth"]);
});

test("a table shows what takes long too", () => {
  expect(namesOf("--table")).toEqual(["confirmations", "growth"]);
});

test("a name or an option that there is not is refused, with its name", () => {
  expect(() => namesOf("confirmation")).toThrow(new UsageError("There is nothing named confirmation to measure."));
  expect(() => namesOf("--fast")).toThrow(UsageError);
});

test("a second server is named by its address", () => {
  expect(readArguments(["confirmations", "--beside", "postgres://there/x"], subjects)).toMatchObject({
    beside: "postgres://there/x",
  });
  expect(readArguments(["confirmations"], subjects)).toMatchObject({ beside: undefined });
});
