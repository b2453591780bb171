import { parsePublicId, publicId } from "@collections/database";
import { actsOnFieldPartner } from "@collections/field-partners";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { visitSetup, type VisitSetup } from "../fixtures/visit-setup.ts";

let service: TestService;
let cli: Cli;
let setup: VisitSetup;
let phones = 0;

interface Person extends Record<string, unknown> {
  readonly fieldPartnerId: string;
}

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  setup = await visitSetup(service);
});

function aPhone(): string {
  phones += 1;
  return `+9198111${String(phones).padStart(5, "0")}`;
}

async function aPerson(name: string, phone = aPhone()): Promise<string> {
  const { fieldPartnerId } = await cli.json("field-partner", "create", "--name", name, "--phone", phone);
  return String(fieldPartnerId);
}

async function list(...args: string[]): Promise<{ fieldPartners: Person[]; nextCursor: string | null }> {
  return (await cli.json("field-partner", "list", ...args)) as never;
}

async function refusal(...args: string[]): Promise<unknown[]> {
  const { code, stdout } = await cli(...args, "--json");
  const { error } = JSON.parse(stdout) as { error: { code: string } };
  return [code, error.code];
}

const update = (id: string, ...args: string[]) => ["field-partner", "update", id, "--reason", "New SIM", ...args];

describe("`field-partner list`", () => {
  test("finds names that look like the text", async () => {
    const zoe = await aPerson("Zo\u00EB D\u2019Souza");
    for (const text of ["ZOE\u0308 d'sou", "d`souza", "\uFF3A\uFF4F\u00EB"]) {
      expect((await list("--search", text)).fieldPartners.map((person) => person.fieldPartnerId)).toEqual([zoe]);
    }
    expect((await list("--search", "zoe d")).fieldPartners).toEqual([]);
  });

  test("finds people by a part of the name, by the last digits of the phone, and by their state", async () => {
    const phone = "+919822266601";
    const one = await aPerson("Meera 50% Iyer", phone);
    const other = await aPerson("Meera Nair");
    await cli.json("field-partner", "suspend", other, "--reason", "left");
    const ids = async (...args: string[]) => (await list(...args)).fieldPartners.map((person) => person.fieldPartnerId);
    expect(await ids("--search", "meera")).toEqual([one, other]);
    expect(await ids("--search", "50% i")).toEqual([one]);
    expect(await ids("--search", "6601")).toEqual([one]);
    expect(await ids("--search", phone)).toEqual([one]);
    expect(await ids("--search", "meera", "--state", "suspended")).toEqual([other]);
    expect(await ids("--search", "98222")).toEqual([]);
    const { fieldPartners } = await list("--search", "6601");
    expect(fieldPartners).toMatchObject([{ displayName: "Meera 50% Iyer", phone: "98•••••601", openCases: 0 }]);
  });

  test("has every person once in its pages, and prints a table with the numbers of open cases", async () => {
    await setup.assignedCase();
    const { fieldPartners } = await list("--limit", "1000");
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await list("--limit", "2", ...(cursor === null ? [] : ["--cursor", cursor]));
      seen.push(...page.fieldPartners.map(({ fieldPartnerId }) => fieldPartnerId));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(fieldPartners.map(({ fieldPartnerId }) => fieldPartnerId));
    const { stdout } = await cli("field-partner", "list");
    expect(stdout).toMatch(/^FIELD PARTNER +NAME +PHONE +STATE +OPEN CASES\n/);
    expect(stdout).toMatch(new RegExp(`${publicId("fp", setup.fieldPartnerId)} +Asha Rao +98•+\\d{3} +active +1\n`));
    expect((await cli("field-partner", "list", "--search", "nobody")).stdout).toBe("No field partner matches.\n");
  });
});

test("`field-partner show` has the cases by lender and status, the last visit, the sessions and the amounts to pay out", async () => {
  const own = await visitSetup(service);
  const { loan } = await own.visit();
  const paid = await own.assignedCase();
  const paidAt = new Date().toISOString();
  await own.lender.confirm(paid.loan, { amount: 5_000, reference: "U1", paidAt, mode: "upi" });
  const id = publicId("fp", own.fieldPartnerId);
  const lenderCode = own.lender.code;
  expect(await cli.json("field-partner", "show", id)).toMatchObject({
    fieldPartnerId: id,
    state: "active",
    openCases: 1,
    openPromises: 0,
    cases: expect.arrayContaining([
      { lenderCode, status: "collected", cases: 1 },
      { lenderCode, status: "in_progress", cases: 1 },
    ]) as object[],
    lastVisitAt: expect.stringMatching(/Z$/) as string,
    sessions: [{ lastUsedAt: expect.stringMatching(/Z$/) as string }],
    toPayOut: [{ lenderCode, amount: "125.00", currency: "INR", lines: 1 }],
  });
  const { stdout } = await cli("field-partner", "show", id);
  expect(stdout).toContain(`List the cases: case list --holder ${id}`);
  const { cases } = (await cli.json("case", "list", "--holder", id)) as { cases: Person[] } & Record<string, unknown>;
  expect(new Set(cases.map(({ sourceLoanNumber }) => sourceLoanNumber))).toEqual(new Set([loan, paid.loan]));
  expect(await refusal("field-partner", "show", `fp_${"0".repeat(32)}`)).toEqual([3, "FIELD_PARTNER_NOT_FOUND"]);
});

describe("`field-partner update`", () => {
  test("changes the phone of a person, who stays signed in, and records no phone in the audit", async () => {
    const phone = aPhone();
    const id = publicId("fp", setup.fieldPartnerId);
    expect(await cli.json(...update(id, "--phone", phone, "--name", "Asha R."))).toMatchObject({
      fieldPartnerId: id,
      displayName: "Asha R.",
      phone: expect.stringContaining(phone.slice(-3)) as string,
    });
    expect((await setup.app.ask("{ viewer { displayName } }")).data).toEqual({ viewer: { displayName: "Asha R." } });
    expect(await list("--search", phone)).toMatchObject({ fieldPartners: [{ fieldPartnerId: id }] });
    const [act] = await actsOnFieldPartner(service.app.database.em(), setup.fieldPartnerId, 1);
    expect(act).toMatchObject({
      act: "field_partner.updated",
      reason: "New SIM",
      data: {
        fields: ["displayName", "phone"],
        changes: { displayName: { from: expect.any(String), to: expect.any(String) }, phone: "changed" },
      },
    });
    expect(JSON.stringify(act)).not.toContain(phone.slice(-5));
  });

  test("changes nothing and records nothing if it is repeated", async () => {
    const id = await aPerson("Once");
    const args = update(id, "--name", "Twice");
    const acts = () => actsOnFieldPartner(service.app.database.em(), parsePublicId("fp", id)!);
    await cli.json(...args);
    await cli.json(...args);
    expect((await acts()).filter(({ act }) => act === "field_partner.updated")).toHaveLength(1);
  });

  test("gives a phone to only one person if two concurrent commands give it to two people", async () => {
    const phone = aPhone();
    const [one, other] = [await aPerson("One"), await aPerson("Other")];
    const results = await Promise.all([one, other].map((id) => cli(...update(id, "--phone", phone), "--json")));
    expect(new Set(results.map(({ code }) => code))).toEqual(new Set([0, 1]));
    expect((await list("--search", phone)).fieldPartners).toHaveLength(1);
  });

  test("refuses an invalid value, the phone of another active person, and an unknown person, and changes nothing", async () => {
    const taken = aPhone();
    await aPerson("Taken", taken);
    const id = await aPerson("Unchanged");
    const before = await cli.json("field-partner", "show", id);
    expect(await refusal(...update(id, "--phone", taken, "--name", "Changed"))).toEqual([1, "DUPLICATE_PHONE"]);
    expect(await refusal(...update(id, "--phone", "98111"))).toEqual([1, "INVALID_PHONE"]);
    expect(await refusal(...update(id, "--name", " "))).toEqual([1, "INVALID_DISPLAY_NAME"]);
    expect(await refusal(...update(id, "--time-zone", "+05:30"))).toEqual([1, "INVALID_TIME_ZONE"]);
    expect(await refusal(...update(id))).toEqual([2, "REQUIRED"]);
    expect(await refusal("field-partner", "update", id, "--name", "Changed")).toEqual([2, "NOT_UNDERSTOOD"]);
    expect(await refusal(...update(`fp_${"0".repeat(32)}`, "--name", "Changed"))).toEqual([
      3,
      "FIELD_PARTNER_NOT_FOUND",
    ]);
    expect(await cli.json("field-partner", "show", id)).toEqual(before);
  });

  test("gives a suspended person the phone of an active person, but then the suspended person cannot be resumed", async () => {
    const taken = aPhone();
    await aPerson("Taken", taken);
    const id = await aPerson("Suspended");
    await cli.json("field-partner", "suspend", id, "--reason", "left");
    await cli.json(...update(id, "--phone", taken));
    expect(await refusal("field-partner", "resume", id, "--reason", "back")).toEqual([1, "DUPLICATE_PHONE"]);
  });
});
