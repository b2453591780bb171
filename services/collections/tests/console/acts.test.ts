import { randomUUID } from "node:crypto";
import { publicId } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aSignedInVisitor, fieldsIn, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let visitor: Visitor;
let code: string;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  code = lender.code;
  visitor = await aSignedInVisitor(service, ["operator"]);
});

interface ShownCase {
  readonly status: string;
  readonly fieldPartner: { readonly id: string } | null;
  readonly audit: readonly { readonly act: string; readonly by: string; readonly reason: string | null }[];
}

/** Returns a case as `case show --json` prints it. */
async function shownCase(loan: string, lenderCode = code): Promise<ShownCase> {
  const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  return (await cli.json("case", "show", lenderCode, loan)) as unknown as ShownCase;
}

/** Opens a page with a form, and sends the form with some more values. */
async function sendForm(page: string, values: Record<string, string>, to = page.split("?", 1)[0]!) {
  return visitor.post(to, { ...fieldsIn(await visitor.get(page)), ...values });
}

async function imported(...loans: string[]): Promise<void> {
  await lender.importCases(loans.map((loan) => aRow(loan)));
}

async function aPerson(): Promise<{ id: string; publicId: string }> {
  const { id } = await aFieldPartner(service);
  return { id, publicId: publicId("fp", id) };
}

describe("the form that assigns a case", () => {
  test("asks before it assigns, and the audit names the operator", async () => {
    await imported("A-1");
    const person = await aPerson();
    const path = `/console/cases/${code}/A-1/assign`;
    const question = await visitor.get(`${path}?person=${person.publicId}`);
    expect(question.text).toContain("Nobody has the case.");
    expect(question.text).toContain("Assign the case</button>");
    const answer = await sendForm(`${path}?person=${person.publicId}`, { reason: "Near by" });
    expect(answer.headers.get("location")).toBe(`/console/cases/${code}/A-1?done=assign`);
    expect((await visitor.get(answer.headers.get("location")!)).text).toContain("The case is assigned.");
    expect(await shownCase("A-1")).toMatchObject({
      status: "assigned",
      fieldPartner: { id: person.publicId },
      audit: [{ act: "case.assign", by: "operator:Asha", reason: "Near by" }],
    });
  });

  test("finds people by name, and offers each of them", async () => {
    await imported("A-2");
    await aPerson();
    await aPerson();
    const { text } = await visitor.get(`/console/cases/${code}/A-2/assign?person=Asha`);
    expect(text.match(/assign\?person=fp_/g)!.length).toBeGreaterThan(1);
    expect(text).not.toMatch(/\+91\d{10}/);
    const none = await visitor.get(`/console/cases/${code}/A-2/assign?person=Nobody`);
    expect(none.text).toContain("There is no such field partner.");
  });

  test("shows a refusal at the form, with the typed reason", async () => {
    await imported("A-3");
    const person = await aPerson();
    const path = `/console/cases/${code}/A-3/assign?person=${person.publicId}`;
    const fields = fieldsIn(await visitor.get(path));
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    await cli.json("field-partner", "suspend", person.publicId, "--reason", "Phone stolen");
    const answer = await visitor.post(path.split("?", 1)[0]!, { ...fields, reason: "Lives <near>" });
    expect(answer.status).toBe(422);
    expect(answer.text).toContain("The field partner is suspended");
    expect(answer.text).toContain('value="Lives &lt;near&gt;"');
    expect((await shownCase("A-3")).fieldPartner).toBeNull();
  });
});

describe("the forms that hold, release, unassign and close a case", () => {
  test("do what the commands do, one after the other", async () => {
    await imported("B-1");
    await assign(service, code, "B-1", (await aPerson()).id);
    const statuses = [];
    for (const order of ["hold", "release", "unassign", "close"]) {
      const page = await visitor.get(`/console/cases/${code}/B-1`);
      expect(page.text).toContain(`/console/cases/${code}/B-1/${order}"`);
      const answer = await sendForm(`/console/cases/${code}/B-1/${order}`, { reason: `To ${order}` });
      expect(answer).toMatchObject({ status: 303 });
      statuses.push((await shownCase("B-1")).status);
    }
    expect(statuses).toEqual(["on_hold", "assigned", "new", "closed"]);
    const { audit } = await shownCase("B-1");
    expect(audit.slice(0, 4).map(({ act, by, reason }) => [act, by, reason])).toEqual(
      ["close", "unassign", "release", "hold"].map((order) => [`case.${order}`, "operator:Asha", `To ${order}`]),
    );
    expect((await visitor.get(`/console/cases/${code}/B-1`)).text).not.toContain(`/console/cases/${code}/B-1/hold`);
  });

  test("need a reason where the lender sees it", async () => {
    await imported("B-2");
    const answer = await sendForm(`/console/cases/${code}/B-2/hold`, { reason: "  " });
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("Give a reason.") });
    const long = await sendForm(`/console/cases/${code}/B-2/hold`, { reason: "x".repeat(501) });
    expect(long).toMatchObject({ status: 422, text: expect.stringContaining("at most 500 characters") });
    expect(await shownCase("B-2")).toMatchObject({ status: "new" });
  });

  test("show why the state of the case refuses an order", async () => {
    await imported("B-3");
    const answer = await sendForm(`/console/cases/${code}/B-3/release`, {});
    expect(answer.status).toBe(422);
    expect(answer.text).toMatch(/role="alert">[^<]*hold/);
  });
});

describe("a form", () => {
  test("that is sent twice acts once", async () => {
    await imported("C-1");
    const path = `/console/cases/${code}/C-1/hold`;
    const fields = { ...fieldsIn(await visitor.get(path)), reason: "Dispute" };
    const answers = await Promise.all(Array.from({ length: 4 }, () => visitor.post(path, fields)));
    const page = `/console/cases/${code}/C-1`;
    expect(answers.map(({ status, headers }) => `${status} ${headers.get("location")}`).toSorted()).toEqual(
      [page, page, page, `${page}?done=hold`].map((location) => `303 ${location}`),
    );
    await sendForm(`/console/cases/${code}/C-1/release`, {});
    const repeat = await visitor.post(path, fields);
    expect([repeat.status, repeat.headers.get("location")]).toEqual([303, page]);
    const { status, audit } = await shownCase("C-1");
    expect(status).toBe("new");
    expect(audit.filter(({ act }) => act === "case.hold")).toHaveLength(1);
  });

  test("that failed is not confirmed when it is sent again", async () => {
    await imported("C-3");
    const path = `/console/cases/${code}/C-3/hold`;
    const fields = { ...fieldsIn(await visitor.get(path)), reason: "Dispute" };
    const { pool } = service.app.database;
    await pool.query("alter table cases.collection_case add constraint no_hold check (status <> 'on_hold') not valid");
    try {
      expect(await visitor.post(path, fields)).toMatchObject({ status: 503 });
    } finally {
      await pool.query("alter table cases.collection_case drop constraint no_hold");
    }
    const repeat = await visitor.post(path, fields);
    expect([repeat.status, repeat.headers.get("location")]).toEqual([303, `/console/cases/${code}/C-3`]);
    expect(await shownCase("C-3")).toMatchObject({ status: "new" });
  });

  test("without its id is refused, and changes nothing", async () => {
    await imported("C-2");
    for (const formId of ["", "1", randomUUID().toUpperCase()]) {
      const answer = await sendForm(`/console/cases/${code}/C-2/hold`, { reason: "Dispute", formId });
      expect(answer).toMatchObject({ status: 422 });
    }
    expect(await shownCase("C-2")).toMatchObject({ status: "new" });
  });

  test("about a loan or a person that does not exist answers 404", async () => {
    for (const path of [
      `/console/cases/${code}/NONE/hold`,
      `/console/cases/NONE/C-1/assign`,
      `/console/deliveries/${publicId("evt", randomUUID())}`,
      `/console/deliveries/nothing`,
      `/console/field-partners/${publicId("fp", randomUUID())}/phone`,
      `/console/field-partners/nothing/move`,
    ]) {
      expect({ path, status: (await visitor.get(path)).status }).toEqual({ path, status: 404 });
    }
  });
});

describe("the form of a delivery", () => {
  test("sends an event again, once", async () => {
    await imported("D-1");
    const { pool } = service.app.database;
    const list = await visitor.get(`/console/deliveries?lender=${code}`);
    const [, eventPath] = new RegExp(`href="(/console/deliveries/evt_[^"]+)">Case `).exec(list.text)!;
    await pool.query("update webhooks.delivery set state = 'parked', settled_at = now(), attempts = 7");
    const answer = await sendForm(eventPath!, { reason: "Their outage is over" }, `${eventPath}/replay`);
    expect(answer.headers.get("location")).toBe(`${eventPath}?done=replay`);
    expect((await visitor.get(answer.headers.get("location")!)).text).toContain("The event is sent again.");
    const { text } = await visitor.get("/console/audit?act=delivery.");
    expect(text).toContain("by Asha");
    expect(text).toContain("Their outage is over");
  });
});

describe("the form of a phone number", () => {
  test("changes the number, and keeps a wrong one at the form", async () => {
    const person = await aPerson();
    const path = `/console/field-partners/${person.publicId}/phone`;
    const wrong = await sendForm(path, { phone: "12345", reason: "New SIM" });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('value="12345"');
    expect(wrong.text).toContain('value="New SIM"');
    const answer = await sendForm(path, { phone: "+919812399999", reason: "New SIM" });
    expect(answer).toMatchObject({ status: 303 });
    const { text } = await visitor.get(answer.headers.get("location")!);
    expect(text).toMatch(/now has the phone [^<]*99\./);
    expect(text).not.toContain("+919812399999");
    const other = await aPerson();
    const taken = await sendForm(`/console/field-partners/${other.publicId}/phone`, {
      phone: "+919812399999",
      reason: "New SIM",
    });
    expect(taken).toMatchObject({ status: 422, text: expect.stringContaining("signs in with this number") });
  });
});

describe("the form that moves all cases", () => {
  test("shows who would get how many cases, and then moves them", async () => {
    const [from, to] = [await aPerson(), await aPerson()];
    const other = await aLender(service);
    await imported("M-1", "M-2");
    await other.importCases([aRow("M-3")]);
    for (const loan of ["M-1", "M-2"]) await assign(service, code, loan, from.id);
    await assign(service, other.code, "M-3", from.id);
    const path = `/console/field-partners/${from.publicId}/move?person=${to.publicId}`;
    const dryRun = await visitor.get(path);
    expect(dryRun.text).toContain("3 open cases of Asha Rao");
    expect(dryRun.text).toContain('data-label="Outstanding">10,000.00 INR</td>');
    expect(dryRun.text).toContain("Move 3 cases</button>");
    expect(await shownCase("M-1")).toMatchObject({ fieldPartner: { id: from.publicId } });
    const answer = await sendForm(path, { reason: "Asha has left" });
    expect(answer).toMatchObject({ status: 303 });
    expect((await visitor.get(answer.headers.get("location")!)).text).toContain("The person has no open case.");
    for (const [loan, lenderCode] of [["M-1"], ["M-2"], ["M-3", other.code]] as [string, string?][]) {
      const { fieldPartner, audit } = await shownCase(loan, lenderCode);
      expect(fieldPartner).toMatchObject({ id: to.publicId });
      expect(audit[0]).toMatchObject({ act: "case.assign", by: "operator:Asha", reason: "Asha has left" });
    }
  });

  test("is refused if the cases have changed since the dry run", async () => {
    const [from, to] = [await aPerson(), await aPerson()];
    await imported("M-4", "M-5");
    await assign(service, code, "M-4", from.id);
    const path = `/console/field-partners/${from.publicId}/move`;
    const fields = fieldsIn(await visitor.get(`${path}?person=${to.publicId}`));
    await assign(service, code, "M-5", from.id);
    const answer = await visitor.post(path, { ...fields, reason: "Asha has left" });
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("The cases have changed") });
    expect(answer.text).toContain("Move 2 cases</button>");
    expect(await shownCase("M-4")).toMatchObject({ fieldPartner: { id: from.publicId } });
  });
});
