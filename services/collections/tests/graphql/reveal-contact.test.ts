import { randomUUID } from "node:crypto";
import { actsOnFieldPartner } from "@collections/field-partners";
import { holdCase, unassignCase } from "@collections/flows";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import { anAssignedCase } from "../fixtures/assigned-case.ts";
import { aFieldPartner, aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const CONTACT = "contact { phone alternatePhones email }";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false, settings: { CONTACT_REVEALS_PER_DAY: "2" } });
  lender = await aLender(service);
});

test("revealContact shows the contact to the case's field partner, and records an audit entry without the phone", async () => {
  const { app, fieldPartnerId, caseId } = await aCase({ alternatePhones: ["+919800000002"], borrowerEmail: "r@k.in" });
  expect(await app.mutate("revealContact", { caseId }, CONTACT)).toEqual({
    __typename: "RevealContactPayload",
    contact: { phone: "+919800000001", alternatePhones: ["+919800000002"], email: "r@k.in" },
  });
  const acts = await actsOn(fieldPartnerId);
  expect(acts).toMatchObject([{ act: "contact.revealed", data: { caseId: uuidOf(caseId) } }]);
  expect(JSON.stringify(acts)).not.toContain("+9198");
});

test("revealContact does not show the contact of another field partner's case or of a case that is not workable", async () => {
  const { app, fieldPartnerId, caseId, loan } = await aCase();
  const { app: stranger, fieldPartnerId: strangerId } = await aCase();
  expect(await stranger.mutate("revealContact", { caseId }, CONTACT)).toMatchObject({ code: "CASE_NOT_FOUND" });
  await holdCase(service.app.database.em(), await order(loan), "sandbox");
  expect(await app.mutate("revealContact", { caseId }, CONTACT)).toMatchObject({ code: "CASE_NOT_WORKABLE" });
  expect([...(await actsOn(strangerId)), ...(await actsOn(fieldPartnerId))]).toEqual([]);
});

test("revealContact counts a request and its repeats once, and shows nothing to a repeat after the case was unassigned", async () => {
  const { app, fieldPartnerId, caseId, loan } = await aCase();
  const input = { idempotencyKey: randomUUID(), caseId };
  const answers = await Promise.all([1, 2, 3].map(() => app.mutate("revealContact", input, CONTACT)));
  expect(new Set(answers.map(({ __typename }) => __typename))).toEqual(new Set(["RevealContactPayload"]));
  expect(await actsOn(fieldPartnerId)).toHaveLength(1);
  const other = await anAssignedCase(service, lender, fieldPartnerId);
  expect(await app.mutate("revealContact", { ...input, caseId: other.caseId }, CONTACT)).toMatchObject({
    code: "IDEMPOTENCY_CONFLICT",
  });
  await unassignCase(service.app.database.em(), await order(loan), "sandbox");
  expect(await app.mutate("revealContact", input, CONTACT)).toMatchObject({ code: "CASE_NOT_FOUND" });
});

test("a repeat of revealContact on another day is recorded and counted again", async () => {
  const { app, fieldPartnerId, caseId } = await aCase();
  const input = { idempotencyKey: randomUUID(), caseId };
  await app.mutate("revealContact", input, CONTACT);
  await aDayPasses(fieldPartnerId);
  for (const _ of [1, 2]) expect(await app.mutate("revealContact", input, CONTACT)).toHaveProperty("contact");
  expect(await actsOn(fieldPartnerId)).toHaveLength(2);
  await aDayPasses(fieldPartnerId);
  for (const _ of [1, 2]) {
    const other = await anAssignedCase(service, lender, fieldPartnerId);
    expect(await app.mutate("revealContact", { caseId: other.caseId }, CONTACT)).toHaveProperty("contact");
  }
  expect(await app.mutate("revealContact", input, CONTACT)).toMatchObject({ code: "CONTACT_LIMIT_REACHED" });
});

test("revealContact has a daily limit that holds for concurrent requests and counts each case once", async () => {
  const { app, fieldPartnerId, caseId } = await aCase();
  const more = [
    await anAssignedCase(service, lender, fieldPartnerId),
    await anAssignedCase(service, lender, fieldPartnerId),
    await anAssignedCase(service, lender, fieldPartnerId),
  ];
  const ids = [caseId, ...more.map((added) => added.caseId)];
  const answers = await Promise.all(ids.map((id) => app.mutate("revealContact", { caseId: id }, CONTACT)));
  const seen = ids.filter((_, index) => answers[index].__typename === "RevealContactPayload");
  expect(seen).toHaveLength(2);
  expect(answers.filter(({ code }) => code === "CONTACT_LIMIT_REACHED")).toHaveLength(2);
  expect(await app.mutate("revealContact", { caseId: seen[0] }, CONTACT)).toHaveProperty("contact");
  expect(await actsOn(fieldPartnerId)).toHaveLength(3);
});

/**
 * Makes the field partner's audit entries older, as if more than a day had passed. Triggers forbid such updates, so
 * they are disabled meanwhile.
 */
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
  return { app, fieldPartnerId, ...(await anAssignedCase(service, lender, fieldPartnerId, fields)) };
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
