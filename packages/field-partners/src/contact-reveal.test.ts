import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { genericPlan, testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import { selectByAct, selectByActor, selectOfAll, selectOfOne } from "./audit.ts";
import { selectReveals } from "./contact-reveal.ts";
import { actsOnFieldPartners, contactRevealsOf, createFieldPartner, recordContactReveal } from "./index.ts";
import { fieldPartnersSchema } from "./schema.ts";

const schemas = [fieldPartnersSchema];
const { url } = await testDatabase("field-partners", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

test("contactRevealsOf returns the accesses to the contact data of one case, newest first", async () => {
  const [caseId, otherCase] = [newId(), newId()];
  const dayStart = new Date("2026-11-19T18:30:00Z");
  const reveals: { fieldPartnerId: string; at: Date }[] = [];
  for (const phone of ["+919800000101", "+919800000102"]) {
    const person = { displayName: "Asha Rao", phone, timeZone: "Asia/Kolkata" };
    const { id: fieldPartnerId } = await transaction(database.em(), (tx) => createFieldPartner(tx, person));
    for (const seen of [caseId, otherCase]) {
      const at = new Date(`2026-11-20T0${reveals.length}:00:00Z`);
      const reveal = { fieldPartnerId, caseId: seen, dayStart, isRepeat: false };
      await transaction(database.em(), (tx) => recordContactReveal(tx, reveal, 60, at));
      reveals.push({ fieldPartnerId, at });
    }
  }
  const [first, last] = [reveals[0]!, reveals[2]!];
  const found = await contactRevealsOf(database.em(), caseId);
  expect(found.reveals).toEqual([last, first]);
  expect(found.fieldPartners.get(first.fieldPartnerId)).toMatchObject({ phone: "+919800000101" });
  const latest = { reveals: [last], fieldPartners: { size: 1 } };
  expect(await contactRevealsOf(database.em(), caseId, { limit: 1 })).toMatchObject(latest);
  const unseen = await contactRevealsOf(database.em(), newId(), { others: [first.fieldPartnerId] });
  expect([unseen.reveals, [...unseen.fieldPartners.keys()]]).toEqual([[], [first.fieldPartnerId]]);
});

test("actsOnFieldPartners returns pages of the actions about everybody or one person, newest first", async () => {
  const people: string[] = [];
  for (const phone of ["+919800000201", "+919800000202"]) {
    const person = { displayName: "Ravi Kumar", phone, timeZone: "Asia/Kolkata" };
    const { id } = await transaction(database.em(), (tx) => createFieldPartner(tx, person));
    const reveal = { fieldPartnerId: id, caseId: newId(), dayStart: new Date(0), isRepeat: false };
    await transaction(database.em(), (tx) => recordContactReveal(tx, reveal, 60, new Date()));
    people.unshift(id);
  }
  const list = (filter: object) => actsOnFieldPartners(database.em(), { act: "contact.", limit: 2, ...filter });
  const [newest, older] = await list({});
  expect([newest, older].map((entry) => entry!.fieldPartnerId)).toEqual(people);
  expect(await list({ before: newest!.id, limit: 1 })).toEqual([older]);
  expect(await list({ fieldPartnerId: people[1] })).toEqual([older]);
  expect(await list({ since: new Date(Date.now() + 60_000) })).toEqual([]);
});

test.each([
  { ...selectReveals, values: "null, null, null", finds: /contact_reveal_of_case(.|\n)*field_partner_pkey/ },
  { ...selectOfAll, values: "null, null, null, null", finds: /audit_entry_pkey/ },
  { ...selectOfOne, values: "null, null, null, null, null, null, null", finds: /audit_entry_of_field_partner/ },
  {
    ...selectByAct,
    values: "null, null, null, null, null",
    finds: /audit_entry_of_kind(.|\n)*audit_entry_of_kind.*\n *Index Cond: .*act >= .*act <= .*id < /,
  },
  {
    ...selectByActor,
    values: "null, null, null, null, null, null",
    finds: /audit_entry_of_actor(.|\n)*audit_entry_of_actor.*\n *Index Cond: .*actor = .*act >= .*act <= .*id < /,
  },
])(
  "$name uses its index, even in a plan that was made on an empty table",
  { tags: "one-node-plan" },
  async ({ text, values, finds }) => {
    const plan = await genericPlan(database.pool, text, values);
    expect(plan).toMatch(finds);
    expect(plan).not.toContain("Seq Scan");
  },
);
