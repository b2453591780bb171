import { expect, test } from "vitest";
import { readArguments, UsageError } from "./arguments.ts";
import type { Subject } from "./subject.ts";

const subjects = ["confirmations", "growth"].map((name) => ({ name, isLong: name === "growth" }) as Subject);

const namesOf = (...args: string[]) => {
  const options = readArguments(args, subjects);
  return options === "help" ? options : options.subjects.map(({ name }) => name);
};

test("measures all parts of the benchmark except those that take an hour, if the command line names no part", () => {
  expect(namesOf("--quick")).toEqual(["confirmations"]);
  expect(namesOf("growth")).toEqual(["growth"]);
});

test("--table also shows the parts of the benchmark that take an hour", () => {
  expect(namesOf("--table")).toEqual(["confirmations", "growth"]);
});

test("names the unknown subject or option of the command line in the error", () => {
  expect(() => namesOf("confirmation")).toThrow(new UsageError("There is no subject named confirmation. See --help."));
  expect(() => namesOf("--fast")).toThrow(UsageError);
});

test("reads the URL of a second PostgreSQL server from --beside", () => {
  expect(readArguments(["confirmations", "--beside", "postgres://there/x"], subjects)).toMatchObject({
    beside: "postgres://there/x",
  });
  expect(readArguments(["confirmations"], subjects)).toMatchObject({ beside: undefined });
});
