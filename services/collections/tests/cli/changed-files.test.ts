import { publicId } from "@collections/database";
import { afterFile } from "@collections/testing";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli, CommandResult } from "../fixtures/processes.ts";
import { oneSheet } from "../fixtures/workbook.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-changed-files-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));

const HEADER = "Loan No,Customer Name,Mob No,POS";
const SHOWN = `${HEADER}\nLN-1,Ravi Kumar,9820000001,500\n`;
const OTHER = `${HEADER}\nLN-1,Ravi Kumar,9820000002,900\nLN-2,Asha Rao,9820000003,100\n`;

let service: TestService;
let cli: Cli;
let lender: Awaited<ReturnType<typeof aLender>>;
let files = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
});
beforeEach(async () => {
  lender = await aLender(service);
});

function aFile(content: string | Buffer, extension = "csv"): string {
  const path = join(folder, `${(files += 1)}.${extension}`);
  writeFileSync(path, content);
  return path;
}

/** Runs a command in a terminal. When the command waits for the answer to its question, calls `act` and answers yes. */
async function answeringYes(act: () => void, ...args: string[]): Promise<CommandResult> {
  let isAsked = false;
  const keyboard = new Readable({
    read() {
      if (isAsked) return;
      isAsked = true;
      act();
      this.push("y\n");
    },
  });
  const stdin = vi.spyOn(process, "stdin", "get").mockReturnValue(Object.assign(keyboard, { isTTY: true }) as never);
  const { isTTY } = process.stderr;
  process.stderr.isTTY = true;
  try {
    const result = await cli(...args);
    expect(isAsked).toBe(true);
    return result;
  } finally {
    process.stderr.isTTY = isTTY;
    stdin.mockRestore();
  }
}

async function amountsOf(...loans: string[]): Promise<unknown[]> {
  return Promise.all(loans.map(async (loan) => (await lender.getCase(loan)).body["outstandingAfter"] ?? null));
}

describe("while `case import` asks its question", () => {
  test("a file that is overwritten is not applied", async () => {
    const path = aFile(SHOWN);
    const { code, stderr } = await answeringYes(
      () => writeFileSync(path, OTHER),
      "case",
      "import",
      path,
      "--lender",
      lender.code,
    );
    expect(code).toBe(1);
    expect(stderr).toContain("The file was changed after it was read the first time.");
    expect(await amountsOf("LN-1", "LN-2")).toEqual([null, null]);
  });

  test("a file that grows is not applied", async () => {
    const path = aFile(SHOWN);
    const { code } = await answeringYes(
      () => writeFileSync(path, "LN-3,Ravi Kumar,9820000001,500\n", { flag: "a" }),
      "case",
      "import",
      path,
      "--lender",
      lender.code,
    );
    expect(code).toBe(1);
    expect(await amountsOf("LN-1", "LN-3")).toEqual([null, null]);
  });

  test("a file of the same name is ignored, and the shown one is applied", async () => {
    const path = aFile(SHOWN);
    const { code } = await answeringYes(
      () => renameSync(aFile(OTHER), path),
      "case",
      "import",
      path,
      "--lender",
      lender.code,
    );
    expect(code).toBe(0);
    expect(await amountsOf("LN-1", "LN-2")).toEqual([500, null]);
  });

  test("a workbook that is overwritten does not matter, because a copy was shown", async () => {
    const sheet = (...rows: (string | number)[][]) => oneSheet(HEADER.split(","), ...rows);
    const path = aFile(sheet(["LN-1", "Ravi Kumar", "9820000001", 500]), "xlsx");
    const other = sheet(["LN-1", "Ravi Kumar", "9820000001", 900], ["LN-2", "Asha Rao", "9820000003", 100]);
    const { code } = await answeringYes(
      () => writeFileSync(path, other),
      "case",
      "import",
      path,
      "--lender",
      lender.code,
    );
    expect(code).toBe(0);
    expect(await amountsOf("LN-1", "LN-2")).toEqual([500, null]);
  });
});

describe("a file of assignments", () => {
  async function aPerson(): Promise<string> {
    return publicId("fp", (await aFieldPartner(service)).id);
  }

  async function holderOf(loan: string): Promise<unknown> {
    const holder = (await lender.getCase(loan)).body["assignedFieldPartner"] as { id: string } | null;
    return holder?.id ?? null;
  }

  test("that is overwritten during the question is not applied", async () => {
    await lender.importCases([aRow("LN-1")]);
    const [shown, other] = [await aPerson(), await aPerson()];
    const path = aFile(`loan,assignTo\nLN-1,${shown}\n`);
    const { code, stderr } = await answeringYes(
      () => writeFileSync(path, `loan,assignTo\nLN-1,${other}\n`),
      "case",
      "assign",
      lender.code,
      "--file",
      path,
    );
    expect(code).toBe(1);
    expect(stderr).toContain("The file was changed");
    expect(await holderOf("LN-1")).toBeNull();
  });

  test("is read as other files are, and shown before the question", async () => {
    await lender.importCases([aRow("0007")]);
    const person = await aPerson();
    const path = aFile(`Moves of November\n\nAgent;A/C No.\n${person};"=""0007"""\n${person};#N/A\nTotal: 2;\n`);
    const args = ["case", "assign", lender.code, "--file", path, "--map", "Agent=assignTo", "--separator", ";"];
    const { code, stderr } = await answeringYes(() => {}, ...args);
    expect(stderr).toMatch(/2 rows; UTF-8, cells separated by semicolons, header in line 3\.\n/);
    expect(stderr).toMatch(/A\/C No\. +loan\n/);
    expect(stderr).toMatch(/Line 6 is skipped/);
    expect(code).toBe(6);
    expect(await holderOf("0007")).toBe(person);
  });

  test.each([
    ["--map", "Agent=assignTo"],
    ["--sheet", "2"],
    ["--header-line", "2"],
  ])("has the option %s, which other ways to assign refuse", async (...option) => {
    const many = await cli("case", "assign", lender.code, "--from", "fp_x", "--to", "fp_y", "--dry-run", ...option);
    expect(many).toMatchObject({ code: 2, stderr: expect.stringMatching(/belong to --file/) as string });
    const one = await cli("case", "assign", lender.code, "LN-1", "fp_x", ...option);
    expect(one).toMatchObject({ code: 2, stderr: expect.stringMatching(/cannot be combined/) as string });
  });
});
