import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dayIn } from "@collections/local-time";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { filesSentTo, readable, type SentFiles } from "./fixtures/sent-files.ts";
import { aLenderVisitor, aSignedInVisitor, fieldsOfForm, type Visitor } from "./fixtures/visitor.ts";

const MARKUP = "<b>Ravi</b>";

let service: TestService;
let code: string;
let lender: Awaited<ReturnType<typeof aLender>>;
let files: SentFiles;
let folder: string;

// Each test runs the job of its upload itself.
beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
  code = lender.code;
  files = filesSentTo(service, { by: await aSignedInVisitor(service, ["operator"]), lender: code });
  folder = mkdtempSync(join(tmpdir(), "collections-uploads-"));
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
});

/** Returns a line that `payment reconcile` prints as the page has it: without times in UTC beside the local ones. */
function onPage(line: string): string {
  return line
    .trim()
    .replace(/^line/, "Line")
    .replaceAll(/ \([\d-]+T[\d:.]+Z\)/g, "")
    .replace(/:$/, ".");
}

describe("a file of payments", () => {
  const NOW = new Date();
  const day = dayIn("Asia/Kolkata", NOW);
  const time = NOW.toISOString();
  let path: string;
  let content: string;
  let staff: Visitor;

  beforeAll(async () => {
    await lender.importCases([aRow("PAY-1"), aRow("PAY-2")]);
    await lender.confirm("PAY-1", { amount: 100, reference: "U1", paidAt: time, mode: "upi" });
    await lender.confirm("PAY-2", { amount: 300, reference: "U2", paidAt: time, mode: "upi" });
    content = [
      "Loan No,UTR,Amount Paid,Payment Date",
      `PAY-1,U1,100,${time}`,
      `PAY-1,${MARKUP},50,${time}`,
      `PAY-2,U2,350,${time}`,
      `PAY-2,U3,=1+1,${time}`,
      "",
    ].join("\r\n");
    staff = await aLenderVisitor(service, code);
    path = await files.uploaded(content, { by: staff, name: "day.csv", options: { kind: "payments", day } });
    await files.runJob(path);
  });

  test("shows the differences that the command prints, and books nothing", async () => {
    const page = await staff.get(path);
    const file = join(folder, "day.csv");
    writeFileSync(file, content);
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    const { stdout } = await cli("payment", "reconcile", file, "--lender", code, "--day", day);
    const shown = readable(page);
    for (const [list, words] of [
      ["onlyYours 1", "Only yours 1"],
      ["amountDiffers 1", "Amount differs 1"],
      ["rejected 1", "Rejected 1"],
      ["matched 1", "Matched 1"],
    ] as const) {
      expect(stdout.replaceAll(/\s+/g, " ")).toContain(list);
      expect(shown).toContain(words);
    }
    const told = stdout.split("\n").filter((line) => /^(?:Payments of| {2}line \d|If a booking)/.test(line));
    expect(told).toHaveLength(3);
    for (const line of told) expect(shown).toContain(onPage(line));
    expect(shown).not.toMatch(/\dT\d\d:\d\d/);
    expect(shown).toContain(`PAY-1 3 ${MARKUP} 50.00 INR`);
    expect(page.text).not.toContain(MARKUP);
    expect(shown).not.toContain("--confirm-missing");
    expect(page.text).not.toContain("Apply the file");
  });

  test("names the person as the audit does", async () => {
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    const { reconciliations } = await cli.json("payment", "reconciliations", code);
    const requesters = (reconciliations as { requestedBy: string }[]).map(({ requestedBy }) => requestedBy);
    expect(requesters).toContain(`operator:Ravi of ${code}`);
    const { entries } = await cli.json("audit", "list", "--lender", code, "--act", "reconciliation.run");
    expect((entries as { by: string }[]).map(({ by }) => by)).toContain(`operator:Ravi of ${code}`);
  });

  test("keeps the time of a call that confirms a payment", async () => {
    const own = `Loan No,UTR,Amount Paid,Payment Date\nPAY-2,U1,100,${time}\n`;
    const page = await files.uploaded(own, { by: staff, name: "own.csv", options: { kind: "payments", day } });
    await files.runJob(page);
    const shown = readable(await staff.get(page));
    expect(shown).toMatch(/PAY-2 \(booked on PAY-1\)/);
    expect(shown).toContain(`/payments/confirm {"amount":100.00,"reference":"U1","paidAt":"${time}"`);
  });

  test("gives the rejected rows with formulas marked", async () => {
    const { text } = await staff.get(`${path}/rejected.csv`);
    expect(text).toMatch(/\r\n5,.*,PAY-2,U3,'=1\+1,.*\r\n$/);
  });

  test("cannot be applied, and needs a day", async () => {
    const fields = fieldsOfForm(await staff.get(path), `${path}/check`);
    expect(await staff.post(`${path}/apply`, fields)).toMatchObject({ status: 422 });
    const again = fieldsOfForm(await staff.get(path), `${path}/check`);
    const wrong = await staff.post(`${path}/check`, { ...again, day: "2026-02-30" });
    expect(wrong.status).toBe(422);
    expect(readable(wrong)).toContain("“Day of the payments”: Expected a day");
  });
});
