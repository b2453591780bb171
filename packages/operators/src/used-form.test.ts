import { randomUUID } from "node:crypto";
import { migrate, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { deleteEndedSessions } from "./delete-ended.ts";
import { operatorsSchema } from "./schema.ts";
import { useForm } from "./used-form.ts";

const schemas = [operatorsSchema];
const { url } = await testDatabase("operator-forms", async (at) => void (await migrate({ url: at, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());
const em = () => database.em();

const NOW = new Date("2026-11-21T09:00:00Z");

test("one of several concurrent uses of a form is the first", async () => {
  const formId = randomUUID();
  const uses = await Promise.all(Array.from({ length: 6 }, () => transaction(em(), (tx) => useForm(tx, formId, NOW))));
  expect(uses.filter(Boolean)).toHaveLength(1);
  expect(await transaction(em(), (tx) => useForm(tx, randomUUID(), NOW))).toBe(true);
});

test("a used form is forgotten after a week", async () => {
  const formId = randomUUID();
  await transaction(em(), (tx) => useForm(tx, formId, NOW));
  const week = (days: number) => new Date(NOW.getTime() + days * 86_400_000);
  await transaction(em(), (tx) => deleteEndedSessions(tx, week(6)));
  expect(await transaction(em(), (tx) => useForm(tx, formId, NOW))).toBe(false);
  await transaction(em(), (tx) => deleteEndedSessions(tx, week(7)));
  expect(await transaction(em(), (tx) => useForm(tx, formId, NOW))).toBe(true);
});
