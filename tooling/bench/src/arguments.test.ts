import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readArguments, UsageError } from "./arguments.ts";
import { readPgledger } from "./packages/pgledger-files.ts";
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

describe("pnpm bench --pgledger", () => {
  const measured = [...subjects, { name: "packages" } as Subject];
  const fileOf = (files: readonly string[]) => {
    const folder = mkdtempSync(join(tmpdir(), "bench-pgledger-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const file of files) {
      mkdirSync(join(folder, file, ".."), { recursive: true });
      writeFileSync(join(folder, file), `-- ${file}`);
    }
    return join(folder, "pgledger.sql");
  };
  const helper = "vendor/scoville-pgsql-ulid/uuid-to-ulid.sql";

  test("takes the file pgledger.sql of a checkout", () => {
    const file = fileOf(["pgledger.sql", helper]);
    expect(readArguments(["packages", "--pgledger", file], measured)).toMatchObject({ pgledger: file });
    expect(readArguments(["--pgledger", file], measured)).toMatchObject({ pgledger: file });
    expect(readPgledger(file)).toEqual([`-- ${helper}`, "-- pgledger.sql"]);
  });

  test.each([
    ["a file that does not exist", [helper], "pgledger.sql does not exist; expected the file pgledger.sql"],
    ["a file without its helpers", ["pgledger.sql"], "scoville-pgsql-ulid does not exist; expected the file"],
  ])("refuses %s", (_, files, message) => {
    expect(() => readArguments(["--pgledger", fileOf(files)], measured)).toThrow(message);
  });

  test("refuses other subjects", () => {
    const args = ["growth", "--pgledger", fileOf(["pgledger.sql", helper])];
    expect(() => readArguments(args, measured)).toThrow("--pgledger is for the subject packages");
  });
});
