import { parsePublicId, publicId } from "@collections/database";
import { actsOnLoan, lenderByCode } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import type { Cli } from "../fixtures/processes.ts";
import { dayFromNow, visitSetup, type VisitSetup } from "../fixtures/visit-setup.ts";

const ADDRESS = { line1: "4 Lake Road", city: "Pune", latitude: 18.52, longitude: 73.85 };
/** About 1,112 metres north of ADDRESS. */
const LOCATION = { latitude: 18.53, longitude: 73.85, accuracyM: 10 };
const NOTE = "At work;\nasked to come \u202Elater";

let service: TestService;
let cli: Cli;
let setup: VisitSetup;
let code: string;
let loan: string;
let asha: { id: string; displayName: string };
let ravi: { id: string };

/** A case with everything that `case show` shows. */
beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  setup = await visitSetup(service);
  code = setup.lender.code;
  const fields = { addresses: [ADDRESS], borrowerEmail: "borrower@example.in", alternatePhones: ["+919800000002"] };
  const assigned = await setup.assignedCase(fields);
  loan = assigned.loan;
  asha = { id: publicId("fp", setup.fieldPartnerId), displayName: "Asha Rao" };
  const other = await aFieldPartner(service);
  ravi = { id: publicId("fp", other.id) };
  await setup.app.mutate("revealContact", { caseId: assigned.caseId }, "contact { phone }");
  const visitId = crypto.randomUUID();
  const startedAt = new Date(Date.now() - 3_600_000).toISOString();
  const start = { visitId, caseId: assigned.caseId, occurredAt: startedAt, ...LOCATION };
  await setup.app.mutate("startVisit", start, "visit { visitId }");
  await setup.request(visitId, { channels: ["EMAIL"] });
  const promise = { amount: { minor: "100000", currency: "INR" }, dueOn: dayFromNow(3) };
  const end = { visitId, occurredAt: new Date().toISOString(), disposition: "PROMISE_TO_PAY", promise, note: NOTE };
  await setup.app.mutate("completeVisit", end, "visit { visitId }");
  await setup.lender.confirm(loan, { amount: 1_000, reference: "UTR1", paidAt: new Date().toISOString(), mode: "upi" });
  await setup.lender.reverse(loan, {
    reference: "UTR1",
    reversalReference: "RV1",
    reversedAt: new Date().toISOString(),
    reason: "bounced",
  });
  await assign(service, code, loan, other.id);
  await cli.json("case", "hold", code, loan, "--reason", "asked by Acme");
});

describe("`case show`", () => {
  test("shows everything that is known about a case, each list newest first", async () => {
    const shown = await cli.json("case", "show", code, loan);
    expect(shown).toMatchObject({
      lenderCode: code,
      sourceLoanNumber: loan,
      status: "on_hold",
      statusReason: "asked by Acme",
      placedAmount: "5000.00",
      outstandingAmount: "5000.00",
      totalCollected: "0.00",
      totalReversed: "1000.00",
      excess: "0.00",
      contact: { borrowerPhone: "98•••••001" },
      fieldPartner: ravi,
      cycles: [{ cycle: 1 }],
      holders: [
        { kind: "assigned", fieldPartner: ravi },
        { kind: "unassigned", fieldPartner: asha },
        { kind: "assigned", fieldPartner: asha },
      ],
      visits: [{ fieldPartner: asha, disposition: "PROMISE_TO_PAY", note: NOTE, late: true, distanceM: 1_112 }],
      promises: [{ amount: "1000.00", dueOn: dayFromNow(3), state: "open" }],
      links: [{ fieldPartner: asha, amount: "2500.00", status: "requested" }],
      payments: [
        { reference: "UTR1", amount: "1000.00", reversals: [{ reversalReference: "RV1", amount: "1000.00" }] },
      ],
      contactReveals: [{ fieldPartner: asha }],
      audit: [{ act: "case.hold", reason: "asked by Acme" }, { act: "case.assign" }, { act: "case.assign" }],
    });
    const { undeliveredEvents } = shown as unknown as { undeliveredEvents: { kind: string; sequence: number }[] };
    expect(undeliveredEvents.map(({ sequence }) => sequence)).toEqual(
      Array.from(undeliveredEvents, (_, index) => undeliveredEvents.length - index),
    );
    expect(undeliveredEvents.map(({ kind }) => kind)).toContain("payment.reversed");
  });

  test("prints one table with the newest first, without control characters and without contact data", async () => {
    const { code: exitCode, stdout } = await cli("case", "show", code, loan);
    expect(exitCode).toBe(0);
    const whats = ["operator", "reversal", "payment", "promise", "link", "visit", "contact seen", "not delivered"];
    for (const what of whats) expect(stdout).toMatch(new RegExp(`^\\d{4}-\\d{2}-\\d{2} [\\d:]{8} +${what} `, "m"));
    const times = stdout.match(/^\d{4}-\d{2}-\d{2} [\d:]{8}/gm)!;
    expect(times).toEqual(times.toSorted().toReversed());
    expect(stdout).toContain("1112 m from the address");
    expect(stdout).not.toMatch(/\u202E|919800000|borrower@|Lake Road/);
  });

  test("shows contact data with a reason, and records the access", async () => {
    expect(await cli("case", "show", code, loan, "--with-contact")).toMatchObject({ code: 2 });
    const reason = "The borrower has complained";
    const shown = await cli.json("case", "show", code, loan, "--with-contact", "--reason", reason);
    expect(shown).toMatchObject({
      contact: {
        borrowerPhone: "+919800000001",
        alternatePhones: ["+919800000002"],
        borrowerEmail: "borrower@example.in",
        addresses: [ADDRESS],
      },
    });
    const em = service.app.database.em();
    const lender = await lenderByCode(em, code);
    const { caseId } = shown as unknown as { caseId: string };
    expect(await actsOnLoan(em, lender!.id, loan, 1)).toMatchObject([
      { act: "contact.revealed", reason, data: { cases: [caseId] } },
    ]);
    expect(parsePublicId("case", caseId)).toBeDefined();
  });

  test("shows a new case, of which nothing is known yet", async () => {
    await setup.lender.importCases([aRow("LN-NEW")]);
    const lists = { holders: [], visits: [], promises: [], links: [], payments: [], contactReveals: [], audit: [] };
    expect(await cli.json("case", "show", code, "LN-NEW")).toMatchObject({
      status: "new",
      fieldPartner: null,
      ...lists,
    });
    expect((await cli("case", "show", code, "LN-NEW")).stdout).toContain("nobody");
  });

  test("finds neither an unknown loan nor the loan of another lender", async () => {
    const other = await aLender(service);
    await other.importCases([aRow("LN-OTHER")]);
    for (const args of [
      [code, "LN-OTHER"],
      [code, "LN-NOTHING"],
      ["NOBODY", loan],
    ]) {
      expect(await cli("case", "show", ...args)).toMatchObject({ code: 3 });
    }
  });
});
