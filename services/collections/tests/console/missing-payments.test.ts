import { lenderByCode } from "@collections/lenders";
import { dayIn } from "@collections/local-time";
import { beforeAll, describe, expect, test } from "vitest";
import { runUpload } from "../../src/worker/run-upload.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aComparison, type PaymentLine } from "./fixtures/uploads.ts";
import { aLenderVisitor, aSignedInVisitor, type ConsoleAnswer, fieldsIn, type Visitor } from "./fixtures/visitor.ts";

const NOW = new Date().toISOString();

let service: TestService;
let asha: Visitor;
let ravi: Visitor;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false, settings: { CONSOLE_SECOND_PERSON_ABOVE: "INR:1000" } });
  asha = await aSignedInVisitor(service, ["operator", "money"], "Asha");
  ravi = await aSignedInVisitor(service, ["operator", "money"], "Ravi");
});

/** Imports the loans of some payments that are not booked, and compares a file with them. */
async function missing(lines: readonly PaymentLine[], owed = 5_000) {
  const lender = await aLender(service);
  const loans = [...new Set(lines.map(({ loan }) => loan))];
  await lender.importCases(loans.map((loan) => aRow(loan, { outstandingAmount: owed })));
  const uploadId = await aComparison(service, lender.code, lines);
  return { ...pathsOf(lender.code, uploadId), lender, uploadId };
}

function pathsOf(code: string, uploadId: string) {
  return { path: `/console/money/missing/${code}/${uploadId}`, upload: `/console/uploads/${code}/${uploadId}` };
}

function line(loan: string, reference: string, amount = 5): PaymentLine {
  return { loan, reference, amount, paidAt: NOW };
}

async function book(visitor: Visitor, path: string, fields: Record<string, string> = {}): Promise<ConsoleAnswer> {
  return visitor.post(path, { ...fieldsIn(await visitor.get(path)), reason: "lost by the gateway", ...fields });
}

async function bookedOf(code: string): Promise<string[]> {
  const { database } = service.app;
  const { id } = (await lenderByCode(database.em(), code))!;
  const { rows } = await database.pool.query<{ reference: string }>(
    "select reference from ledger.payment_booking where lender_id = $1 order by reference",
    [id],
  );
  return rows.map(({ reference }) => reference);
}

async function actsOf(code: string): Promise<object[]> {
  const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const { entries } = await cli.json("audit", "list", "--lender", code, "--act", "reconciliation.confirm");
  return entries as object[];
}

/** Compares the file again, as a worker does after a booking. */
async function compareAgain(code: string, uploadId: string): Promise<void> {
  const { id: lenderId } = (await lenderByCode(service.app.database.em(), code))!;
  await runUpload(service.app, { data: { lenderId, uploadId }, attempt: 1 });
}

const refused = (text: string) => ({ status: 422, text: expect.stringContaining(text) as string });

describe("the missing payments of a file", () => {
  test("are booked once, with the reason in the audit", async () => {
    const { lender, path, upload, uploadId } = await missing([line("A-1", "U1"), line("A-2", "U2", 7.5)]);
    expect((await asha.get(upload)).text).toContain(`href="${path}"`);
    const form = await asha.get(path);
    expect(form.text).toMatch(/12\.50 INR[^]*A-1[^]*U1[^]*5\.00 INR[^]*Book 2 payments/);
    expect(await book(asha, path, { reason: "" })).toMatchObject(refused("Give a reason."));
    expect(await bookedOf(lender.code)).toEqual([]);
    const sent = { ...fieldsIn(form), reason: "lost by the gateway" };
    expect(await asha.post(path, sent)).toMatchObject({
      status: 200,
      text: expect.stringContaining("2 payments are booked.") as string,
    });
    const repeated = await asha.post(path, sent);
    // The file waits to be compared again, so there is no comparison to book.
    expect(repeated.status).toBe(422);
    expect(await bookedOf(lender.code)).toEqual(["U1", "U2"]);
    const audited = { by: "operator:Asha", reason: "lost by the gateway" };
    expect(await actsOf(lender.code)).toMatchObject([
      {
        act: "reconciliation.confirmed",
        ...audited,
        data: { booked: 2, alreadyBooked: 0, refused: 0, file: "day.csv" },
      },
      { act: "reconciliation.confirm_started", ...audited, data: { missing: 2, sha256: "0".repeat(64) } },
    ]);
    await compareAgain(lender.code, uploadId);
    const page = await asha.get(upload);
    expect(page.text).toMatch(/Matched[^<]*<\/th>\s*<td[^>]*>2</);
    expect(page.text).not.toContain(`href="${path}"`);
  });

  test("are named with the reason if they are not booked", async () => {
    const withoutTime = { loan: "B-1", reference: "U2", amount: 5 };
    const lines = [line("B-1", "U1"), withoutTime, line("B-2", "U3", 5_000)];
    const { lender, path, uploadId } = await missing(lines, 50);
    // Above the limit for one person: the sum counts payments that are not booked, too.
    const asked = await book(asha, path);
    const at = asked.headers.get("location")!;
    const result = await ravi.post(`${at}/confirm`, fieldsOfConfirm(await ravi.get(at)));
    expect(result.text).toMatch(/1 payment is booked\.[^]*Not booked: 2/);
    expect(result.text).toMatch(/U2[^]*does not say when the payment was captured/);
    expect(result.text).toMatch(/U3[^]*name this line in the form/);
    await compareAgain(lender.code, uploadId);
    expect(await book(asha, path, { majorUnits: "x" })).toMatchObject(refused("Give the lines as numbers"));
    const long = `${"17, ".repeat(125)}40`;
    expect(await book(asha, path, { majorUnits: long })).toMatchObject(refused("in at most 500 characters"));
    const again = (await book(asha, path, { majorUnits: "4" })).headers.get("location")!;
    await ravi.post(`${again}/confirm`, fieldsOfConfirm(await ravi.get(again)));
    expect(await bookedOf(lender.code)).toEqual(["U1", "U3"]);
  });

  test("are booked beside a payment of the same amount", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("C-1")]);
    await lender.confirm("C-1", { amount: 5, reference: "K1", paidAt: NOW, mode: "upi" });
    const uploadId = await aComparison(service, lender.code, [line("C-1", "K1"), line("C-1", "U1")]);
    const { path } = pathsOf(lender.code, uploadId);
    expect((await book(asha, path)).text).toContain("1 payment is booked.");
    expect(await bookedOf(lender.code)).toEqual(["K1", "U1"]);
  });

  test("are not booked after the lender has confirmed them", async () => {
    const { lender, path } = await missing([line("D-1", "U1"), line("D-2", "U2")]);
    await lender.confirm("D-1", { amount: 5, reference: "U1", paidAt: NOW, mode: "upi" });
    await lender.confirm("D-2", { amount: 5, reference: "OTHER", paidAt: NOW, mode: "upi" });
    const { text } = await book(asha, path);
    expect(text).toMatch(/0 payments are booked\.\s+1 was booked before\.[^]*U2[^]*under the reference OTHER/);
    expect(await bookedOf(lender.code)).toEqual(["OTHER", "U1"]);
  });

  test("are booked once by two operators at once", async () => {
    const { lender, path } = await missing(numbered("E", 130));
    const forms = await Promise.all([asha, ravi].map(async (one) => [one, fieldsIn(await one.get(path))] as const));
    const answers = await Promise.all(forms.map(([one, fields]) => one.post(path, { ...fields, reason: "lost" })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const booked = answers.map(({ text }) => Number(/(\d+) payments? (?:is|are) booked/.exec(text)![1]));
    expect(booked[0]! + booked[1]!).toBe(130);
    expect(await bookedOf(lender.code)).toHaveLength(130);
  });

  test.each([
    ["its beginning", "lenders.audit_entry", "act <> 'reconciliation.confirm_started'", 0],
    ["the second page", "ledger.payment_booking", "reference <> 'U100'", 64],
    ["its end", "lenders.audit_entry", "act <> 'reconciliation.confirmed'", 130],
  ])("are booked by a repeat after a failure at %s", async (at, table, condition, before) => {
    const { lender, path } = await missing(numbered(`F${before}`, 130));
    const { pool } = service.app.database;
    await pool.query(`alter table ${table} add constraint injected check (${condition}) not valid`);
    const failed = await book(asha, path);
    await pool.query(`alter table ${table} drop constraint injected`);
    expect({ at, status: failed.status }).toEqual({ at, status: 503 });
    expect(await bookedOf(lender.code)).toHaveLength(before);
    const { text } = await book(asha, path);
    expect(text).toContain(`${130 - before} payments are booked.`);
    expect(text.includes(`${before} were booked before.`)).toBe(before > 0);
    expect(await bookedOf(lender.code)).toHaveLength(130);
  });

  test("are not booked from an earlier comparison", async () => {
    const { lender, path, upload, uploadId } = await missing([line("G-1", "U1")]);
    const old = fieldsIn(await asha.get(path));
    const page = await asha.get(upload);
    const fields = /action="[^"]*\/check"[^]*?<\/form>/.exec(page.text)![0].matchAll(/name="(\w+)" value="([^"]*)"/g);
    const check = Object.fromEntries([...fields].map(([, name, value]) => [name!, value!]));
    const day = dayIn("Asia/Kolkata", new Date(NOW));
    expect(await asha.post(`${upload}/check`, { ...check, day })).toMatchObject({ status: 303 });
    await compareAgain(lender.code, uploadId);
    const answer = await asha.post(path, { ...old, reason: "lost" });
    expect(answer).toMatchObject(refused("The file was compared again in the meantime."));
    expect(await bookedOf(lender.code)).toEqual([]);
  });

  test("above 500 are left to the command", async () => {
    const lender = await aLender(service);
    const uploadId = await aComparison(service, lender.code, numbered("H", 501));
    const { path } = pathsOf(lender.code, uploadId);
    const { text } = await asha.get(path);
    expect(text).toContain("The console books at most 500 missing payments, and 501 are missing.");
    expect(text).not.toContain('<button type="submit">Book');
  });

  test("are offered only to the role `money`", async () => {
    const { lender, path, upload } = await missing([line("I-1", "U1")]);
    const operator = await aSignedInVisitor(service, ["operator"], "Vik");
    const staff = await aLenderVisitor(service, lender.code);
    for (const one of [operator, staff]) expect((await one.get(upload)).text).not.toContain(path);
    expect([(await operator.get(path)).status, (await staff.get(path)).status]).toEqual([403, 404]);
  });
});

describe("a booking above the limit", () => {
  test("waits until another operator confirms it", async () => {
    const { lender, path } = await missing([line("J-1", "U1", 1_000.01)]);
    const at = (await book(asha, path)).headers.get("location")!;
    expect(at).toMatch(/^\/console\/money\/requests\/req_/);
    expect(await bookedOf(lender.code)).toEqual([]);
    expect((await asha.get(at)).text).not.toContain(`${at}/confirm`);
    const page = await ravi.get(at);
    expect(page.text).toMatch(/Book the missing payments[^]*day\.csv[^]*1,000\.01 INR/);
    const fields = fieldsOfConfirm(page);
    expect((await ravi.post(`${at}/confirm`, fields)).text).toContain("1 payment is booked.");
    expect(await actsOf(lender.code)).toMatchObject([
      { by: "operator:Ravi", reason: "lost by the gateway (asked for by Asha)" },
      { by: "operator:Ravi", act: "reconciliation.confirm_started" },
    ]);
    expect((await asha.get(at)).text).toMatch(/Confirmed[^]*Decided by[^]*Ravi/);
    expect(await bookedOf(lender.code)).toEqual(["U1"]);
  });

  test("is confirmed after the file has expired", async () => {
    const { lender, path, uploadId } = await missing([line("K-1", "U1", 2_000)]);
    const at = (await book(asha, path)).headers.get("location")!;
    await service.app.database.pool.query("update uploads.upload set expires_at = now() where id = $1", [uploadId]);
    const answer = await ravi.post(`${at}/confirm`, fieldsOfConfirm(await ravi.get(at)));
    expect(answer.text).toContain("1 payment is booked.");
    expect(await bookedOf(lender.code)).toEqual(["U1"]);
  });

  test("books nothing if its comparison was changed", async () => {
    const { lender, path } = await missing([line("L-1", "U1", 2_000)]);
    const at = (await book(asha, path)).headers.get("location")!;
    const { pool } = service.app.database;
    const changed = `update operators.second_person_request set change = change || '{"digest": "00"}' where decided_at is null`;
    const fields = fieldsOfConfirm(await ravi.get(at));
    await pool.query(changed);
    const answer = await ravi.post(`${at}/confirm`, fields);
    expect(answer).toMatchObject(refused("The stored reconciliation is not the one that was shown"));
    expect((await ravi.get(at)).text).toContain("Waiting");
    expect(await bookedOf(lender.code)).toEqual([]);
  });
});

/** Returns the hidden fields of the form that confirms a request. */
function fieldsOfConfirm({ text }: ConsoleAnswer): Record<string, string> {
  const [form = ""] = /action="[^"]*\/confirm"[^]*?<\/form>/.exec(text) ?? [];
  return Object.fromEntries(
    [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
  );
}

function numbered(prefix: string, count: number): PaymentLine[] {
  return Array.from({ length: count }, (_, index) => {
    const number = String(index).padStart(3, "0");
    return line(`${prefix}-${number}`, `U${number}`);
  });
}
