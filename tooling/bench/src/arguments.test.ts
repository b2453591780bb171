import { expect, test } from "vitest";
import { readArguments, UsageError } from "./arguments.ts";
import type { Subject } from "./subject.ts";

const subjects = ["confirmations", "growth"].map((name) => ({ name, isLong: name === "growth" }) as Subject);

const namesOf = (...args: string[]) => {
  const options = readArguments(args, subjects);
  return options === "help" ? options : options.subjects.map(({ name }) => name);
};

test("pnpm bench without a subject measures all subjects except those that take an hour", () => {
  expect(namesOf("--quick")).toEqual(["confirmations"]);
  expect(namesOf("growth")).toEqual(["growth"]);
});

test("pnpm bench --table also shows the subjects that take an hour", () => {
  expect(namesOf("--table")).toEqual(["confirmations", "growth"]);
});

test("the error of pnpm bench names the unknown subject or option of the command line", () => {
  expect(() => namesOf("confirmation")).toThrow(new UsageError("There is no subject named confirmation. See --help."));
  expect(() => namesOf("--fast")).toThrow(UsageError);
});

test("pnpm bench --beside takes the URL of a second PostgreSQL server", () => {
  expect(readArguments(["confirmations", "--beside", "postgres://there/x"], subjects)).toMatchObject({
    beside: "postgres://there/x",
  });
  expect(readArguments(["confirmations"], subjects)).toMatchObject({ beside: undefined });
});
