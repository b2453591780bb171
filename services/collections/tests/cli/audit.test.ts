import { userInfo } from "node:os";
import { newId, publicId } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { type Cli, secretFile } from "../fixtures/processes.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";

interface Listed {
  readonly entries: readonly (Record<string, unknown> & {
    readonly at: string;
    readonly act: string;
    readonly lenderCode: string | null;
  })[];
  readonly nextCursor: string | null;
}

let cli: Cli;
let code: string;
let other: string;
let person: string;
let caseId: string;
let loan: string;
let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const setup = await visitSetup(service);
  code = setup.lender.code;
  person = publicId("fp", setup.fieldPartnerId);
  const assigned = await setup.assignedCase();
  await setup.app.mutate("revealContact", { caseId: assigned.caseId }, "contact { phone }");
  loan = assigned.loan;
  ({ caseId } = (await cli.json("case", "show", code, assigned.loan)) as { caseId: string });
  await cli.json("case", "hold", code, assigned.loan, "--reason", "asked by Acme");
  const second = await aLender(service);
  other = second.code;
  await second.importCases([aRow("LN-1")]);
  await cli.json("case", "hold", other, "LN-1", "--reason", "asked by another lender");
  await cli.json("lender", "update", code, "--name", "Acme Renamed");
});

async function list(...args: string[]): Promise<Listed> {
  return (await cli.json("audit", "list", ...args)) as unknown as Listed;
}

describe("`audit list`", () => {
  test("lists the actions on all lenders and about all people, newest first", async () => {
    const { entries } = await list();
    expect(entries[0]).toMatchObject({
      lenderCode: code,
      act: "lender.updated",
      data: { fields: ["name"], changes: { name: { from: expect.any(String) as string, to: "Acme Renamed" } } },
    });
    const times = entries.map(({ at }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(entries).toContainEqual(
      expect.objectContaining({ act: "contact.revealed", fieldPartnerId: person, data: { caseId } }),
    );
  });

  test("lists the actions on one lender, about one person, and of one kind", async () => {
    const ofLender = await list("--lender", other);
    expect(new Set(ofLender.entries.map(({ lenderCode }) => lenderCode))).toEqual(new Set([other]));
    expect((await list("--lender", code, "--act", "case.hold")).entries).toMatchObject([{ act: "case.hold" }]);
    const ofPerson = await list("--field-partner", person, "--act", "contact.");
    expect(ofPerson.entries).toMatchObject([
      { act: "contact.revealed", fieldPartnerName: "Asha Rao", lenderCode: null },
    ]);
    const { entries } = await list();
    const { at: since } = entries[2]!;
    expect((await list("--since", since)).entries).toEqual(entries.filter(({ at }) => at >= since));
  });

  test("names the operator or the field partner who did each action, and lists the actions of one operator", async () => {
    const me = `operator:${userInfo().username}`;
    const { entries } = await list();
    const actors = new Map(entries.map(({ act, by }) => [act, by]));
    expect(Object.fromEntries(actors)).toMatchObject({
      "case.hold": me,
      "lender.updated": me,
      "contact.revealed": `field_partner:${person}`,
    });
    expect(entries.filter(({ by }) => by === null)).toEqual([]);
    expect((await list("--by", userInfo().username)).entries).toEqual(entries.filter(({ by }) => by === me));
    expect((await list("--by", "nobody")).entries).toEqual([]);
    const ofCase = (await cli.json("case", "show", code, loan)) as { audit: { act: string; by: string }[] };
    expect(ofCase.audit).toContainEqual(expect.objectContaining({ act: "case.hold", by: me }));
    expect((await cli("case", "show", code, loan)).stdout).toMatch(
      new RegExp(`operator +case\\.hold by ${userInfo().username}: asked by Acme`),
    );
  });

  test("lists entries of earlier versions, which did not record who did the action", async () => {
    await service.app.database
      .em()
      .getConnection()
      .execute(
        `insert into lenders.audit_entry (lender_id, id, act, data, at)
       select id, ?, 'case.of_old_version', '{}', now() from lenders.lender where code = ?`,
        [newId(), other],
      );
    const { entries } = await list("--lender", other, "--act", "case.of_old_version");
    expect(entries).toMatchObject([{ act: "case.of_old_version", by: null }]);
  });

  test("shows the old and the new values of settings, and no secret", async () => {
    const { lenderCode } = await cli.json(
      ..."lender create --code TOLD --currency INR --name Told --callback-url https://told.example/a".split(" "),
    );
    const update = (...options: string[]) => cli.json("lender", "update", "TOLD", ...options);
    await update("--callback-url", "https://told.example/b", "--reason", "they have moved");
    await update("--callback-url", "https://told.example/b");
    await update("--mint-auth-header", secretFile("X-Key: s3cret"), "--rate-limit", "confirm=70");
    const { entries } = await list("--lender", String(lenderCode), "--act", "lender.updated");
    expect(entries).toMatchObject([
      { reason: null, data: { changes: { mintAuthHeader: "changed", rateLimits: { from: {}, to: { confirm: 70 } } } } },
      {
        reason: "they have moved",
        data: { changes: { callbackUrl: { from: "https://told.example/a", to: "https://told.example/b" } } },
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain("s3cret");
    const { stdout } = await cli("audit", "list", "--lender", "TOLD", "--act", "lender.updated");
    expect(stdout).toContain("callbackUrl https://told.example/a → https://told.example/b");
    const csv = await cli("audit", "list", "--lender", "TOLD", "--act", "lender.updated", "--csv");
    expect(csv.stdout).toContain('""callbackUrl"":{""to"":""https://told.example/b""');
  });

  test("continues after the last entry of a page", async () => {
    const { entries } = await list("--act", "case.");
    const first = await list("--act", "case.", "--limit", "1");
    const second = await list("--act", "case.", "--limit", "1000", "--cursor", first.nextCursor!);
    expect([...first.entries, ...second.entries]).toEqual(entries);
    expect(second.nextCursor).toBeNull();
  });

  test("prints a table in the lender's time zone, and a CSV", async () => {
    const { stdout } = await cli("audit", "list", "--lender", code, "--act", "case.hold");
    expect(stdout).toMatch(/^TIME \(Asia\/Kolkata\) /);
    expect(stdout).toMatch(/case\.hold +\S+ +asked by Acme +loan CASE-/);
    const csv = await cli("audit", "list", "--lender", other, "--act", "case.hold", "--csv");
    expect(csv.stdout).toContain(`,${other},,,case.hold,operator:${userInfo().username},asked by another lender`);
  });

  test("refuses unknown names and wrong options", async () => {
    expect(await cli("audit", "list", "--lender", "NOBODY")).toMatchObject({ code: 3 });
    for (const args of [
      ["--lender", code, "--field-partner", person],
      ["--act", "case%"],
      ["--cursor", "first"],
      ["--limit", "0"],
      ["--by", ""],
      ["--since", "yesterday"],
    ]) {
      expect([args, (await cli("audit", "list", ...args)).code]).toEqual([args, 2]);
    }
  });
});
