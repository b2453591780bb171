import { randomUUID } from "node:crypto";
import { caseByLoan } from "@collections/cases";
import { publicId } from "@collections/database";
import { lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";
import { aLenderVisitor, aVisitor, fieldsIn, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let own: VisitSetup;
let other: VisitSetup;
let visitor: Visitor;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  own = await visitSetup(service, { name: "Own Finance" });
  other = await visitSetup(service, { name: "Other Finance" });
  for (const [{ lender }, name] of [
    [own, "OWN"],
    [other, "OTHER"],
  ] as const) {
    await lender.importCases([
      aRow(`${name}-1`, { borrowerName: `${name} Borrower`, borrowerPhone: "+919811112222" }),
      aRow("SHARED-1", { borrowerName: `${name} Shared` }),
    ]);
    const paidAt = new Date().toISOString();
    await lender.confirm(`${name}-1`, { amount: 100, reference: `UTR-${name}`, paidAt, mode: "upi" });
  }
  visitor = await aLenderVisitor(service, own.lender.code);
});

function cli() {
  return commandsInProcess({ DATABASE_URL: service.databaseUrl, PUBLIC_URL: service.url });
}

async function firstEventOf(code: string): Promise<string> {
  const { id } = (await lenderByCode(service.app.database.em(), code))!;
  const { rows } = await service.app.database.pool.query<{ id: string }>(
    "select id from webhooks.delivery where lender_id = $1 order by id limit 1",
    [id],
  );
  return publicId("evt", rows[0]!.id);
}

describe("the link of `lender portal-link`", () => {
  test("signs in once, under the name of the person and the lender", async () => {
    const { url, expiresAt } = await cli().json("lender", "portal-link", own.lender.code, "--name", "Meena");
    expect(Date.parse(expiresAt as string)).toBeGreaterThan(Date.now());
    const path = new URL(url as string).pathname;
    const page = await aVisitor(service).get(path);
    expect(page.text).toContain(`Sign in as Meena of ${own.lender.code}`);
    expect(page.text).toContain(`You see the cases and the connection of ${own.lender.code}.`);
    const link = path.slice(path.lastIndexOf("/") + 1);
    const staff = aVisitor(service);
    expect(await staff.post("/console/sign-in", { link })).toMatchObject({ status: 303 });
    expect(await staff.get("/console")).toMatchObject({ status: 200 });
    expect(await aVisitor(service).post("/console/sign-in", { link })).toMatchObject({ status: 410 });
    const { operators } = (await cli().json("operator", "list")) as { operators: Record<string, unknown>[] };
    expect(operators[0]).toMatchObject({ name: `Meena of ${own.lender.code}`, lenderCode: own.lender.code });
    await cli().json("operator", "revoke", `Meena of ${own.lender.code}`);
    expect(await staff.get("/console")).toMatchObject({ status: 401 });
  });

  test("of POST portal-links signs in to the same pages", async () => {
    const { status, body } = await own.lender.call("POST", "/api/v1/partner/portal-links", { name: "Meena" });
    expect(status).toBe(200);
    const { origin, pathname } = new URL(body["url"] as string);
    expect(origin).toBe(service.url);
    const staff = aVisitor(service);
    const link = pathname.slice(pathname.lastIndexOf("/") + 1);
    expect(await staff.post("/console/sign-in", { link })).toMatchObject({ status: 303 });
    const page = await staff.get(`/console/cases/${own.lender.code}/OWN-1`);
    expect(page.text).toContain(`Meena of ${own.lender.code}`);
    expect(page.text).toContain("· Portal</title>");
    const odd = await own.lender.call("POST", "/api/v1/partner/portal-links", { name: "Me\u200dena" });
    expect(odd).toMatchObject({ status: 422, body: { errors: [{ code: "INVALID_TEXT", pointer: "/name" }] } });
  });

  test("is refused for a lender that does not exist", async () => {
    expect(await cli()("lender", "portal-link", "NOBODY")).toMatchObject({ code: 3 });
  });
});

describe("a lender's staff", () => {
  test("sees figures, deliveries and the connection of the lender alone", async () => {
    for (const path of ["/console", "/console/deliveries", "/console/connection"]) {
      const { status, text } = await visitor.get(path);
      expect({ path, status }).toEqual({ path, status: 200 });
      expect(text).toContain(own.lender.code);
      expect(text).not.toContain(other.lender.code);
      expect(text).not.toContain(">Audit</a>");
      const foreign = await visitor.get(`${path}?lender=${other.lender.code}`);
      expect(foreign.text).not.toMatch(/OTHER-1|Other Finance/);
      expect(foreign.text).toMatch(/There is no such lender\.|No delivery matches\./);
    }
  });

  test("finds what is the lender's, without commands", async () => {
    for (const text of ["OWN-1", "UTR-OWN", "OWN Borrower", await firstEventOf(own.lender.code)]) {
      const found = await visitor.get(`/console/search?text=${encodeURIComponent(text)}`);
      expect(found.text).toMatch(/OWN-1|OWN Borrower|UTR-OWN/);
      expect(found.text).not.toContain("pnpm collections");
    }
  });

  test("finds nothing of another lender, and no field partner", async () => {
    const { lender } = other;
    const em = service.app.database.em();
    const { id } = (await lenderByCode(em, lender.code))!;
    const caseId = publicId("case", (await caseByLoan(em, id, "OTHER-1"))!.id);
    const person = publicId("fp", other.fieldPartnerId);
    const texts = ["OTHER-1", "UTR-OTHER", "OTHER Borrower", "OTHER Shared", caseId, await firstEventOf(lender.code)];
    const { rows } = await service.app.database.pool.query<{ phone: string }>(
      "select phone from field_partners.field_partner",
    );
    for (const text of [...texts, person, "Asha Rao", ...rows.flatMap(({ phone }) => [phone, phone.slice(-6)])]) {
      const found = await visitor.get(`/console/search?text=${encodeURIComponent(text)}`);
      expect({ text, isNothing: found.text.includes("Nothing is called") }).toEqual({ text, isNothing: true });
    }
    const shared = await visitor.get("/console/search?text=SHARED-1");
    expect([shared.text.includes("OWN Shared"), shared.text.includes("OTHER Shared")]).toEqual([true, false]);
  });

  test("sees a case without operators' reasons and without forms", async () => {
    await cli().json("case", "unassign", own.lender.code, (await own.assignedCase()).loan, "--reason", "Internal");
    await cli().json("case", "hold", own.lender.code, "OWN-1", "--reason", "Dispute");
    await cli().json("case", "release", own.lender.code, "OWN-1", "--reason", "Internal matter");
    const { status, text } = await visitor.get(`/console/cases/${own.lender.code}/OWN-1`);
    expect(status).toBe(200);
    expect(text).toContain("OWN Borrower");
    expect(text).not.toMatch(/Internal matter|Hold the case|Assign the case/);
    for (const [code, loan] of [
      [other.lender.code, "OTHER-1"],
      [own.lender.code, "OTHER-1"],
      [other.lender.code, "OWN-1"],
    ]) {
      const answer = await visitor.get(`/console/cases/${code}/${loan}`);
      expect(answer).toMatchObject({ status: 404, text: expect.stringContaining("Loan not found") });
    }
  });

  test("sends an event of the lender again, and none of another lender", async () => {
    const eventId = await firstEventOf(own.lender.code);
    await service.app.database.pool.query("update webhooks.delivery set state = 'parked', settled_at = now()");
    const path = `/console/deliveries/${eventId}`;
    const fields = { ...fieldsIn(await visitor.get(path)), reason: "Our outage is over" };
    expect(await visitor.post(`${path}/replay`, fields)).toMatchObject({ status: 303 });
    const foreign = `/console/deliveries/${await firstEventOf(other.lender.code)}`;
    const repeated = { ...fields, formId: randomUUID() };
    expect(await visitor.post(`${foreign}/replay`, repeated)).toMatchObject({ status: 404 });
    const { rows } = await service.app.database.pool.query<{ count: string }>(
      "select count(*) from webhooks.delivery where replay",
    );
    expect(rows[0]!.count).toBe("1");
    const { entries } = (await cli().json("audit", "list", "--lender", own.lender.code, "--act", "delivery.")) as {
      entries: Record<string, unknown>[];
    };
    expect(entries).toMatchObject([{ by: `operator:Ravi of ${own.lender.code}`, reason: "Our outage is over" }]);
  });
});
