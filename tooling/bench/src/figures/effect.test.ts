import { expect, test } from "vitest";
import { requireSameEffect } from "./effect.ts";

const before = { service: new Map([["ledger.transfer +", 100]]), statement: new Map<string, number>() };
const confirmations = { service: 1_000, statement: 500 };

test("requireSameEffect accepts programs that differ only in their rates and in how often they update a table", () => {
  const service = new Map([
    ["ledger.transfer +", 2_100],
    ["cases.collection_case ~", 30],
    ["lenders.api_key ~", 3],
  ]);
  const statement = new Map([
    ["cases.collection_case ~", 500],
    ["ledger.transfer +", 1_000],
  ]);
  expect(() => requireSameEffect(before, { service, statement }, confirmations)).not.toThrow();
});

test("requireSameEffect throws an error that names a table that only one of the compared programs writes", () => {
  const service = new Map([["ledger.transfer +", 2_100]]);
  const statement = new Map([
    ["ledger.transfer +", 1_000],
    ["webhooks.event +", 500],
  ]);
  expect(() => requireSameEffect(before, { service, statement }, confirmations)).toThrow("webhooks.event +1.0");
});
