import { until } from "@collections/testing";
import { parsePublicId, publicId } from "@collections/database";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { visitSetup, type VisitSetup } from "../fixtures/visit-setup.ts";

interface ShownFinding extends Record<string, unknown> {
  readonly kind: string;
  readonly lenderCode: string | null;
  readonly id: string;
  readonly label: string;
  readonly next: readonly string[];
}

const PAID_AT = new Date().toISOString();

let service: TestService;
let cli: Cli;
let setup: VisitSetup;
let code: string;
let other: Awaited<ReturnType<typeof aLender>>;
let loan: string;
let visitId: string;
let caseId: string;
let linkId: string;

/** Two lenders. Both have a payment with the reference UTR1, and one of them reversed a part of it. */
beforeAll(async () => {
  service = await startTestService();
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  setup = await visitSetup(service);
  code = setup.lender.code;
  other = await aLender(service);
  ({ loan, visitId } = await setup.visit({ borrowerName: "Farah Khan" }));
  await setup.request(visitId);
  await other.importCases([aRow("LN 'O' 9", { borrowerName: "Imran Khan" })]);
  await setup.lender.confirm(loan, { amount: 1_000, reference: "UTR1", paidAt: PAID_AT, mode: "upi" });
  await other.confirm("LN 'O' 9", { amount: 500, reference: "UTR1", paidAt: PAID_AT, mode: "cash" });
  const reversal = { reference: "UTR1", reversalReference: "RV1", reversedAt: PAID_AT, amount: 400, reason: "bounced" };
  await setup.lender.reverse(loan, reversal);
  linkId = await until(async () => {
    const shown = (await cli.json("case", "show", code, loan)) as {
      caseId: string;
      links: { linkId: string | null }[];
    };
    ({ caseId } = shown);
    return shown.links[0]?.linkId;
  });
});

async function find(...args: string[]): Promise<readonly ShownFinding[]> {
  const { findings } = (await cli.json("find", ...args)) as unknown as { findings: ShownFinding[] };
  return findings;
}

describe("`find` finds", () => {
  test("a payment and its reversal by reference alone, at every lender", async () => {
    expect(await find("UTR1")).toMatchObject([
      {
        kind: "payment",
        lenderCode: code,
        id: "UTR1",
        sourceLoanNumber: loan,
        state: "partly_reversed",
        label: "1,000.00 INR",
        next: ["payment", "show", code, loan, "UTR1"],
      },
      { kind: "payment", lenderCode: other.code, sourceLoanNumber: "LN 'O' 9", state: "booked" },
    ]);
    expect(await find("UTR1", "--lender", other.code)).toHaveLength(1);
    expect(await find("UTR1", "--limit", "1")).toMatchObject([{ kind: "payment", lenderCode: code }]);
    expect(await find("RV1")).toMatchObject([
      {
        kind: "reversal",
        id: "RV1",
        state: "bounced",
        label: "400.00 INR of UTR1",
        next: ["payment", "show", code, loan, "UTR1"],
      },
    ]);
  });

  test("ids, with and without their prefix", async () => {
    const caseOfLoan = { kind: "case", lenderCode: code, id: caseId, sourceLoanNumber: loan, state: "in_progress" };
    expect(await find(caseId)).toMatchObject([caseOfLoan]);
    expect(await find(parsePublicId("case", caseId)!.toUpperCase())).toMatchObject([caseOfLoan]);
    expect(await find(publicId("vis", visitId))).toMatchObject([
      { kind: "visit", lenderCode: code, sourceLoanNumber: loan, state: "started", next: ["case", "show", code, loan] },
    ]);
    const person = publicId("fp", setup.fieldPartnerId);
    expect(await find(person)).toMatchObject([
      { kind: "field_partner", lenderCode: null, state: "active", next: ["field-partner", "show", person] },
    ]);
    const { deliveries } = (await cli.json("delivery", "list", "--lender", code)) as {
      deliveries: { eventId: string }[];
    };
    const { eventId } = deliveries[0]!;
    expect(await find(eventId)).toMatchObject([{ kind: "event", id: eventId, next: ["delivery", "show", eventId] }]);
  });

  test("a link by the lender's id", async () => {
    expect(await find(linkId)).toMatchObject([
      { kind: "link", lenderCode: code, id: linkId, sourceLoanNumber: loan, label: "2,500.00 INR" },
    ]);
  });

  test("people by name or last digits with a masked phone, and borrowers by name", async () => {
    const people = await find("asha rao");
    expect(people.map(({ kind }) => kind)).toContain("field_partner");
    for (const { label } of people) expect(label).toMatch(/^Asha Rao, \d{2}•+\d{3}$/);
    expect(await find("khan imran")).toMatchObject([{ kind: "case", lenderCode: other.code, label: "Imran Khan" }]);
    expect(await find("khan", "--limit", "1")).toHaveLength(1);
  });

  test("a loan once, by its whole number and by the end of the number", async () => {
    expect(await find("LN 'O' 9")).toMatchObject([{ kind: "case", lenderCode: other.code }]);
    expect(await find("o' 9")).toMatchObject([{ kind: "case", sourceLoanNumber: "LN 'O' 9" }]);
  });
});

test("`find` prints the next command so that a shell understands it", async () => {
  const { stdout } = await cli("find", "UTR1", "--lender", other.code);
  expect(stdout).toContain(String.raw`pnpm collections payment show ${other.code} 'LN '\''O'\'' 9' UTR1`);
});

test("`find` exits with 3 if nothing is found, and with 2 for a text that it cannot search", async () => {
  expect(await cli("find", "UTR-NOTHING")).toMatchObject({ code: 3 });
  expect(await cli("find", publicId("evt", setup.fieldPartnerId))).toMatchObject({ code: 3 });
  for (const text of [" x ", "x".repeat(201), "a\u0007b"]) expect(await cli("find", text)).toMatchObject({ code: 2 });
  expect(await cli("find", "UTR1", "--lender", "NOBODY")).toMatchObject({ code: 3 });
});
