import { expect, test } from "vitest";
import { CHECKS } from "../src/index.ts";
import { namesOf, runOn } from "./run-on.ts";
import { TestLender } from "./test-lender.ts";

const ALL = CHECKS.map(({ name }) => name);

test("a lender that does as the contract says passes every check", async () => {
  const results = await runOn(new TestLender());
  expect(results.flatMap(({ findings }) => findings)).toEqual([]);
  expect(namesOf(results, "PASS")).toEqual(ALL);
});
