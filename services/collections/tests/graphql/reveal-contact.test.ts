import { randomUUID } from "node:crypto";
import { actsOnFieldPartner } from "@collections/field-partners";
import { holdCase, unassignCase } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const CONTACT = "contact { phone alternatePhones email }";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let loansMade = 0;

beforeAll(async () => {
  service = await startTestService({ works: false, settings: { CONTACT_REVEALS_PER_DAY: "2" } });
  lender = await aLender(service);
});

test("a contact is shown to whoever works on the case, and kept in the audit without the phone", async () => {
  const { app, fieldPartnerId, caseId } = await aCase({ alternatePhones: ["+919800000002"], borrowerEmail: "r@k.in" });
  expect(await app.mutate("revealContact", { caseId }, CONTACT)).toEqual({
    __typename: "RevealContactPayload",
    contact: { phone: "+919800000001", alternatePhones: ["+919800000002"], email: "r@k.in" },
  });
  const acts = await actsOn(fieldPartnerId);
  expect(acts).toMatchObject([{ act: "contact.revealed", data: { caseId: uuidOf(caseId) } }]);
  expect(JSON.stringify(acts)).not.toContain("98000");
});

test("a contact of another field partner's case, or of one that may not be worked, is not shown", async () => {
  const { app, fieldPartnerId, caseId, loan } = await aCase();
  const { app: stranger, fieldPartnerId: strangerId } = await aCase();
  expect(await stranger.mutate("revealContact", { caseId }, CONTACT)).toMatchObject({ code: "CASE_NOT_FOUND" });
  await holdCase(service.app.database.em(), await order(loan), "sandbox");
  expect(await app.mutate("revealContact", { caseId }, CONTACT)).toMatchObject({ code: "CASE_NOT_WORKABLE" });
  expect([...(await actsOn(strangerId)), ...(await actsOn(fieldPartnerId))]).toEqual([]);
});

test("a repeat is one reveal, and shows nothing once the case is gone; another case under its key is a conflict", async () => {
  const { app, fieldPartnerId, caseId, loan } = await aCase();
  const input = { idempotencyKey: randomUUID(), caseId };
  const answers = await Promise.all([1, 2, 3].map(() => app.mutate("revealContact", input, CONTACT)));
  expect(new Set(answers.map(({ __typename }) => __typename))).toEqual(new Set(["RevealContactPayload"]));
  expect(await actsOn(fieldPartnerId)).toHaveLength(1);
  const other = await addCase(fieldPartnerId, app);
  expect(await app.mutate("revealContact", { ...input, caseId: other.caseId }, CONTACT)).toMatchObject({
    code: "IDEMPOTENCY_CONFLICT",
  });
  await unassignCase(service.app.database.em(), await order(loan), "sandbox");
  expect(await app.mutate("revealContact", input, CONTACT)).toMatchObject({ code: "CASE_NOT_FOUND" });
});

test("a repeat on another day is another look: it is kept, and counts", async () => {
  const { app, fieldPartnerId, caseId } = await aCase();
  const input = { idempotencyKey: randomUUID(), caseId };
  await app.mutate("revealContact", input, CONTACT);
  await aDayPasses(fieldPartnerId);
  for (const _ of [1, 2]) expect(await app.mutate("revealContact", input, CONTACT)).toHaveProperty("contact");
  expect(await actsOn(fieldPartnerId)).toHaveLength(2);
  await aDayPasses(fieldPartnerId);
  for (const _ of [1, 2]) {
    const other = await addCase(fieldPartnerId, app);
    expect(await app.mutate("revealContact", { caseId: other.caseId }, CONTACT)).toHaveProperty("contact");
  }
  expect(await app.mutate("revealContact", input, CONTACT)).toMatchObject({ code: "CONTACT_LIMIT_REACHED" });
});

test("so many cases a day may be seen and no more, also at once; those that were seen may be seen again", async () => {
  const { app, fieldPartnerId, caseId } = await aCase();
  const more = [
    await addCase(fieldPartnerId, app),
    await addCase(fieldPartnerId, app),
    await addCase(fieldPartnerId, app),
  ];
  const ids = [caseId, ...more.map((added) => added.caseId)];
  const answers = await Promise.all(ids.map((id) => app.mutate("revealContact", { caseId: id }, CONTACT)));
  const seen = ids.filter((_, index) => answers[index].__typename === "RevealContactPayload");
  expect(seen).toHaveLength(2);
  expect(answers.filter(({ code }) => code === "CONTACT_LIMIT_REACHED")).toHaveLength(2);
  expect(await app.mutate("revealContact", { caseId: seen[0] }, CONTACT)).toHaveProperty("contact");
  expect(await actsOn(fieldPartnerId)).toHaveLength(3);
});

/** Nothing but a test may date the audit back. */
async function aDayPasses(fieldPartnerId: string): Promise<void> {
  const { pool } = service.app.database;
  await pool.query("alter table field_partners.audit_entry disable trigger all");
  await pool.query("update field_partners.audit_entry set at = at - interval '25 hours' where field_partner_id = $1", [
    fieldPartnerId,
  ]);
  await pool.query("alter table field_partners.audit_entry enable trigger all");
}

async function aCase(fields: Record<string, unknown> = {}) {
  const { id: fieldPartnerId, accessToken } = await aFieldPartner(service);
  const app = new AppClient(service.url, accessToken);
  return { app, fieldPartnerId, ...(await addCase(fieldPartnerId, app, fields)) };
}

async function addCase(fieldPartnerId: string, app: AppClient, fields: Record<string, unknown> = {}) {
  loansMade += 1;
  const loan = `LN-${String(loansMade).padStart(4, "0")}`;
  await lender.importCases([aRow(loan, fields)]);
  await assign(service, lender.code, loan, fieldPartnerId);
  const { data } = await app.ask("query ($search: String) { cases(search: $search) { edges { node { id } } } }", {
    search: loan,
  });
  return { loan, caseId: data!["cases"].edges[0].node.id as string };
}

async function order(loan: string) {
  return { lender: (await lenderByCode(service.app.database.em(), lender.code))!, loan, reason: "complaint" };
}

async function actsOn(fieldPartnerId: string) {
  const acts = await actsOnFieldPartner(service.app.database.em(), fieldPartnerId);
  return acts.filter(({ act }) => act === "contact.revealed");
}

function uuidOf(globalId: string): string {
  return Buffer.from(globalId, "base64url").toString().split(":")[1]!;
}
