import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { caseByLoan } from "@collections/cases";
import { lenderByCode } from "@collections/lenders";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { MAX_UPLOAD_BYTES } from "../../src/desk/files/uploads.ts";
import { inFieldWords } from "../../src/desk/words/field-words.ts";
import { runUpload } from "../../src/worker/run-upload.ts";
import { deleteOldUploads } from "../../src/worker/worker.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { oneSheet } from "../fixtures/workbook.ts";
import { filesSentTo, readable, type Sent, type SentFiles } from "./fixtures/sent-files.ts";
import { anUpload } from "./fixtures/uploads.ts";
import {
  aLenderVisitor,
  aSignedInVisitor,
  type ConsoleAnswer,
  fieldsIn,
  fieldsOfForm,
  type Visitor,
} from "./fixtures/visitor.ts";

const HEADER = "Loan No,Customer Name,Mob No,POS,Nickname";
const MARKUP = "<b>Ravi</b>";

let service: TestService;
let visitor: Visitor;
let code: string;
let lender: Awaited<ReturnType<typeof aLender>>;
let otherCode: string;
let files: SentFiles;
let folder: string;
let loans = 0;

// The jobs of uploads are run by `runJob`, so that each test sees the page of every state.
beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  code = lender.code;
  otherCode = (await aLender(service)).code;
  visitor = await aSignedInVisitor(service, ["operator"]);
  files = filesSentTo(service, { by: visitor, lender: code });
  folder = mkdtempSync(join(tmpdir(), "collections-uploads-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
});

function rowsOf(count: number): string[] {
  return Array.from({ length: count }, () => `UP-${(loans += 1)},${MARKUP},98200 00001,"1,250.50",x`);
}

function csv(...rows: string[]): string {
  return [HEADER, ...rows, ""].join("\r\n");
}

async function checked(content: string | Buffer, sent: Sent = {}) {
  const path = await files.uploaded(content, sent);
  return { path, page: await files.runJob(path) };
}

function apply(path: string, page: ConsoleAnswer, reason = "November") {
  return visitor.post(`${path}/apply`, { ...fieldsIn(page), reason });
}

async function countOf(table: string, path: string): Promise<number> {
  const { uploadId } = (await files.jobOf(path)).data;
  const column = table === "uploads.part" ? "upload_id" : "id";
  const { rows } = await service.app.database.pool.query(`select from ${table} where ${column} = $1`, [uploadId]);
  return rows.length;
}

async function isImported(loan: string): Promise<boolean> {
  const { id } = (await lenderByCode(service.app.database.em(), code))!;
  return Boolean(await caseByLoan(service.app.database.em(), id, loan));
}

describe("an uploaded file", () => {
  test("is shown as the dry run of the command shows it", async () => {
    const content = csv(...rowsOf(3), "UP-BAD,No Phone,12,100,x");
    const { page } = await checked(content);
    const file = join(folder, "cases.csv");
    writeFileSync(file, content);
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    const { stdout, stderr } = await cli("case", "import", file, "--lender", code, "--dry-run");
    const shown = readable(page).toLowerCase();
    const lines = `${stderr}\n${stdout}`.split("\n").map((line) => line.trim());
    const told = lines.filter((line) => /^(?:\d+ rows|line \d|Ignored|No column|Warnings)/.test(line));
    expect(told.length).toBeGreaterThan(5);
    for (const line of told) expect(shown).toContain(inFieldWords(line).replaceAll(/\s+/g, " ").toLowerCase());
    expect(shown).not.toMatch(/(?<!\S)--[a-z]/);
    expect(shown).toContain("created 3");
    expect(shown).toContain("rejected 1");
    expect(page.text).not.toContain(MARKUP);
    expect(await isImported("UP-1")).toBe(false);
  });

  test("is applied once, with the person and the reason in the audit", async () => {
    const rows = rowsOf(2);
    const { path, page } = await checked(csv(...rows, "UP-BAD,No Phone,12,100,=1+1"));
    const answers = await Promise.all([apply(path, page), apply(path, page)]);
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect((await visitor.get(path)).headers.get("refresh")).toBe("3");
    await Promise.all([files.runJob(path), files.runJob(path)]);
    const result = await visitor.get(path);
    expect(readable(result)).toContain("The file is applied by Asha");
    expect(readable(result)).toMatch(/Created 2 .*Rejected 1 /);
    expect(result.headers.get("refresh")).toBeNull();
    const rejected = await visitor.get(`${path}/rejected.csv`);
    expect(rejected.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(rejected.headers.get("content-disposition")).toContain("filename=cases.rejected.csv");
    expect(rejected.text).toMatch(
      /^\uFEFF?Rejected line,.*,Loan No,.*\r\n4,.*Mob No.*,UP-BAD,No Phone,12,100,'=1\+1\r\n$/,
    );
    const audit = await visitor.get("/console/audit?act=case_file.");
    expect(readable(audit)).toContain("November");
    const { pool } = service.app.database;
    const acts = await pool.query<{ act: string; actor: string }>(
      "select act, actor from lenders.audit_entry where act like 'case_file.%' order by id desc limit 2",
    );
    expect(acts.rows).toEqual([
      { act: "case_file.imported", actor: "operator:Asha" },
      { act: "case_file.started", actor: "operator:Asha" },
    ]);
    expect(await countOf("uploads.part", path)).toBe(1);
  });

  test("is continued by another worker after a kill", async () => {
    const { path, page } = await checked(csv(...rowsOf(2_500), "UP-BAD,No Phone,12,100,x"));
    await apply(path, page);
    const job = await files.jobOf(path);
    const { database } = service.app;
    let isKilled = false;
    const killed = new Proxy(database, {
      get: (target, name) => {
        if (name !== "em") return Reflect.get(target, name) as unknown;
        return () => {
          if (isKilled) throw new Error("killed");
          return target.em();
        };
      },
    });
    const ended = runUpload({ ...service.app, database: killed }, job).catch((error: unknown) => error);
    const progress = async () => {
      const { rows } = await database.pool.query<{ rows_done: number }>(
        "select rows_done from uploads.upload where id = $1",
        [job.data.uploadId],
      );
      isKilled ||= rows[0]!.rows_done >= 1_000;
      return isKilled;
    };
    await expect.poll(progress, { interval: 2 }).toBe(true);
    expect(await ended).toEqual(new Error("killed"));
    expect(readable(await files.runJob(path))).toContain("The file is being applied");
    await database.pool.query("update uploads.upload set claimed_until = now() where id = $1", [job.data.uploadId]);
    expect(readable(await files.runJob(path))).toMatch(/Created 2,500 .*Rejected 1 /);
    expect((await visitor.get(`${path}/rejected.csv`)).text).toContain("UP-BAD");
  });

  test("is read with the options of the form", async () => {
    const content = "Account;Customer Name;Mob No;POS\nUP-OPT;Zo\xEB;9820000001;1250,5\n";
    const { path, page } = await checked(Buffer.from(content, "latin1"));
    expect(readable(page)).toContain("try “Encoding”: windows-1252.");
    const fields = fieldsOfForm(page, `${path}/check`);
    const wrong = await visitor.post(`${path}/check`, { ...fields, headerLine: "x" });
    expect(wrong.status).toBe(422);
    expect(readable(wrong)).toContain("“Line of the header”: Expected the number of a line");
    const options = { encoding: "windows-1252", map: "Account=sourceLoanNumber", asOf: "2026-11-20 18:00" };
    const again = { ...fieldsOfForm(wrong, `${path}/check`), ...options };
    expect(await visitor.post(`${path}/check`, again)).toMatchObject({ status: 303 });
    const shown = await files.runJob(path);
    expect(readable(shown)).toContain("WINDOWS-1252, cells separated by semicolons");
    expect(readable(shown)).toContain("Created 1");
    expect(await visitor.post(`${path}/apply`, { ...fieldsIn(shown), version: "1" })).toMatchObject({ status: 422 });
  });

  test("may be an Excel workbook", async () => {
    const rows = [
      ["Loan No", "Customer Name", "Mob No", "POS"],
      ["UP-X", "Ravi", "9820000001", 5],
    ];
    const { page } = await checked(oneSheet(...rows), { name: "cases.xlsx" });
    expect(readable(page)).toContain('sheet "Cases"');
  });

  test("has a name that is shown as text", async () => {
    const name = `..\\folder/<img src=x>\u0007\u202Egnp${"x".repeat(200)}.csv`;
    const { page } = await checked(csv(...rowsOf(1)), { name });
    expect(page.text).not.toContain("<img");
    expect(readable(page)).toContain("<img src=x><U+0007><U+202E>gnpxxx");
    expect(readable(page)).not.toContain("folder");
    expect(readable(page)).toContain("xxx… Checked");
  });
});

describe("an upload is refused", () => {
  test.each([
    ["an empty file", "", "The file is empty"],
    ["no chosen file", undefined, "Choose a file."],
  ])("with %s", async (_, content, problem) => {
    const answer = await files.send(content ?? "", content === undefined ? { name: "" } : {});
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining(problem) });
  });

  test("with a file of another kind, after its check", async () => {
    const { page } = await checked("%PDF-1.7", { name: "cases.pdf" });
    expect(readable(page)).toContain("This is a PDF.");
    expect(page.text).not.toContain("Apply the file");
  });

  test("with a header whose columns are unclear", async () => {
    const { page } = await checked(`Loan No,${MARKUP},Amount\nUP-1,x,1\n`);
    expect(readable(page)).toContain('Column "Amount" could have several meanings.');
    expect(readable(page)).toContain(MARKUP);
    expect(page.text).not.toContain(MARKUP);
  });

  test("with a body beyond 16 MiB", async () => {
    const answer = await files.send(Buffer.alloc(MAX_UPLOAD_BYTES + 100_000, "x"));
    expect(answer).toMatchObject({ status: 413, text: expect.stringContaining("A file has 16 MiB at most.") });
  });

  test("after 30 uploads of the lender", async () => {
    const { code: busy } = await aLender(service);
    for (let count = 0; count < 30; count += 1) await anUpload(service, busy);
    const answer = await files.send(csv(...rowsOf(1)), { lender: busy });
    expect(answer).toMatchObject({ status: 422, text: expect.stringContaining(`${busy} has 30 uploads.`) as string });
  });

  test("by a viewer, who does not see the page in the menu", async () => {
    const viewer = await aSignedInVisitor(service, ["viewer"], "Vik");
    expect((await viewer.get("/console/search")).text).not.toContain(">Import</a>");
    expect((await visitor.get("/console/search")).text).toContain(">Import</a>");
    const fields = fieldsOfForm(await visitor.get("/console/uploads"), "/console/uploads");
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...fields, lender: code })) form.set(name, value);
    expect(await viewer.send("/console/uploads", form)).toMatchObject({ status: 403 });
  });

  test("from a form of another session or site", async () => {
    const form = new FormData();
    form.set("formToken", "x");
    expect(await visitor.send("/console/uploads", form)).toMatchObject({ status: 403 });
    const body = await visitor.post("/console/uploads", {}, "https://evil.example");
    expect(body).toMatchObject({ status: 403 });
  });

  test("after it has expired, and its rows are deleted", async () => {
    const { path, page } = await checked(csv(...rowsOf(1)));
    const { data } = await files.jobOf(path);
    await service.app.database.pool.query("update uploads.upload set expires_at = now() where id = $1", [
      data.uploadId,
    ]);
    expect(await visitor.get(path)).toMatchObject({ status: 404 });
    expect(await apply(path, page)).toMatchObject({ status: 404 });
    await deleteOldUploads(service.app);
    expect([await countOf("uploads.upload", path), await countOf("uploads.part", path)]).toEqual([0, 0]);
  });
});

describe("a lender's staff", () => {
  test("uploads and applies a file for the own lender alone", async () => {
    const staff = await aLenderVisitor(service, code);
    const foreign = await aLenderVisitor(service, otherCode);
    const rows = rowsOf(1);
    const path = await files.uploaded(csv(...rows), { by: staff });
    const page = await files.runJob(path);
    const own = await staff.get(path);
    expect(own).toMatchObject({ status: 200 });
    expect(await foreign.get(path)).toMatchObject({ status: 404 });
    expect(await foreign.get(path.replace(code, otherCode))).toMatchObject({ status: 404 });
    expect(await files.send(csv(...rowsOf(1)), { by: staff, lender: otherCode })).toMatchObject({ status: 404 });
    expect(page.text).toContain(`Uploaded by Ravi of ${code}`);
    expect(await staff.post(`${path}/apply`, fieldsIn(own))).toMatchObject({ status: 303 });
    expect(readable(await files.runJob(path))).toContain(`applied by Ravi of ${code}`);
    expect(await isImported(rows[0]!.split(",", 1)[0]!)).toBe(true);
  });
});

test("no table contains a cell of an uploaded file as text", async () => {
  const { path } = await checked(csv("UP-SECRET,Zubeida Qureshi,9820000001,1,x"));
  const { data } = await files.jobOf(path);
  const { pool } = service.app.database;
  const upload = await pool.query("select to_jsonb(u)::text as text from uploads.upload u where id = $1", [
    data.uploadId,
  ]);
  const parts = await pool.query("select to_jsonb(p)::text as text from uploads.part p where upload_id = $1", [
    data.uploadId,
  ]);
  const jobs = await pool.query("select to_jsonb(j)::text as text from pgboss.job j where name = 'uploaded-file'");
  for (const { text } of [...upload.rows, ...parts.rows, ...jobs.rows]) expect(text).not.toMatch(/Zubeida|UP-SECRET/);
  expect(parts.rows.length).toBeGreaterThan(0);
});
