import { transaction } from "@collections/database";
import { listFieldPartners } from "@collections/field-partners";
import { SCENES } from "@collections/flows";
import { lenderByCode, suspendLender } from "@collections/lenders";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { loanEvents } from "../fixtures/loan-events.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;

interface Played {
  readonly stoppedBecause: string | null;
  readonly events: readonly { readonly eventId: string; readonly kind: string; readonly sequence: number }[];
}

const PLAY = "/api/v1/partner/sandbox/play";

let service: TestService;
let lender: Lender;
let loans = 0;

beforeAll(async () => {
  service = await startTestService();
  lender = await aLender(service);
});

async function aLoan(fields: object = {}): Promise<string> {
  loans += 1;
  const loan = `LN-${loans}`;
  await lender.importCases([aRow(loan, { ...fields })]);
  return loan;
}

function play(loan: string, scene: string, caller = lender) {
  return caller.call<Played & { code: string; detail: string }>("POST", PLAY, { loan, scene });
}

const MINTED = ["case.assigned", "visit.started", "payment_link.created", "payment_link.undelivered"];
const PROMISED = ["case.assigned", "visit.started", "visit.completed"];

/** The kinds of the events that each scene causes on a new loan. */
const KINDS: Readonly<Record<(typeof SCENES)[number], readonly string[]>> = {
  visit: ["case.assigned", "visit.started", "visit.completed"],
  promise: PROMISED,
  "promise-kept": [...PROMISED, "payment.collected", "promise.kept"],
  "promise-broken": [...PROMISED, "promise.broken"],
  dispute: [...PROMISED, "case.held", "case.released"],
  link: [...MINTED, "visit.completed"],
  "link-paid": [...MINTED, "payment.collected", "visit.completed"],
  reversal: ["payment.collected", "payment.reversed"],
  reopening: ["payment.collected", "case.closed", "payment.reversed", "case.reopened"],
  reassignment: ["case.assigned", "case.unassigned", "case.assigned"],
};

describe("a scene", () => {
  test.each(SCENES)("sends the events of its answer: %s", async (scene) => {
    const loan = await aLoan();
    const { status, body } = await play(loan, scene);
    expect(body.events.map(({ kind }) => kind)).toEqual(KINDS[scene]);
    expect({ status, stoppedBecause: body.stoppedBecause }).toEqual({ status: 200, stoppedBecause: null });
    const stored = await loanEvents(service, lender.code, loan);
    expect(body.events).toEqual(stored.slice(1).map(({ eventId, kind, sequence }) => ({ eventId, kind, sequence })));
    const received = () => new Set(lender.deliveries.map(({ eventId }) => eventId));
    await expect.poll(() => body.events.filter(({ eventId }) => !received().has(eventId))).toEqual([]);
  });

  test.each(SCENES)("can be played three times on a loan: %s", async (scene) => {
    const loan = await aLoan();
    for (let time = 0; time < 3; time += 1) {
      expect((await play(loan, scene)).body).toMatchObject({ success: true, stoppedBecause: null });
    }
  });

  test("pays the link that the lender's endpoint has minted", async () => {
    const loan = await aLoan();
    await play(loan, "link-paid");
    const events = await loanEvents(service, lender.code, loan);
    const { linkId, visitId } = events.find(({ kind }) => kind === "payment_link.created")!.data;
    const paid = events.find(({ kind }) => kind === "payment.collected")!;
    expect(paid).toMatchObject({
      outstandingAfter: 4500,
      data: { linkId, visitId, attribution: "exact", amount: 500 },
    });
  });

  test("pays at least the minimum amount and at most the outstanding amount", async () => {
    const [minimum, rest] = [await aLoan({ minimumAmount: 1000 }), await aLoan({ outstandingAmount: 0.5 })];
    for (const [loan, amount] of [
      [minimum, 1000],
      [rest, 0.5],
    ] as const) {
      await play(loan, "link-paid");
      const paid = (await loanEvents(service, lender.code, loan)).find(({ kind }) => kind === "payment.collected");
      expect(paid).toMatchObject({ data: { amount } });
    }
  });

  test("ends early when the mint endpoint gives no link", async () => {
    const other = await aLender(service, { mintLinkUrl: null });
    await other.importCases([aRow("LN-1")]);
    const { body } = await play("LN-1", "link-paid", other);
    expect(body.stoppedBecause).toContain("not_configured");
    expect(body.events.map(({ kind }) => kind)).toEqual(["case.assigned", "visit.started", "payment_link.unavailable"]);
  });

  test("takes a case from another field partner first", async () => {
    const loan = await aLoan();
    await assign(service, lender.code, loan, (await aFieldPartner(service)).id);
    const { body } = await play(loan, "visit");
    expect(body.events.map(({ kind }) => kind)).toEqual(["case.unassigned", ...KINDS.visit]);
    expect((await lender.getCase(loan)).body).toMatchObject({
      assignedFieldPartner: { displayName: "Sandbox Visitor 1" },
    });
  });

  test("of several lenders at once registers each visitor once", async () => {
    const fresh = await startTestService({ hasWorker: false });
    const lenders = await Promise.all([aLender(fresh), aLender(fresh), aLender(fresh), aLender(fresh)]);
    await Promise.all(lenders.map((one) => one.importCases([aRow("LN-1")])));
    const answers = await Promise.all(lenders.map((one) => play("LN-1", "reassignment", one)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const names = (await listFieldPartners(fresh.app.database.em())).map(({ displayName }) => displayName);
    expect(names.toSorted()).toEqual(["Sandbox Visitor 1", "Sandbox Visitor 2"]);
  });
});

describe("a scene is refused", () => {
  test("on a loan of another lender", async () => {
    const loan = await aLoan();
    const stranger = await aLender(service);
    expect(await play(loan, "visit", stranger)).toMatchObject({ status: 404, body: { code: "LOAN_NOT_FOUND" } });
    expect(await loanEvents(service, lender.code, loan)).toHaveLength(1);
  });

  test.each([
    ["ended", { outstandingAmount: 0 }, "import the loan"],
    ["held", { action: "hold", reason: "dispute" }, '"action": "release"'],
    ["not to be contacted", { doNotContactUntil: "2199-01-01" }, "doNotContactUntil"],
  ])("with a remedy on a case that is %s", async (_state, fields, remedy) => {
    const loan = await aLoan();
    const isControl = "action" in fields;
    await lender.importCases([isControl ? { sourceLoanNumber: loan, ...fields } : aRow(loan, { ...fields })]);
    const { status, body } = await play(loan, "visit");
    expect({ status, code: body.code }).toEqual({ status: 409, code: "SCENE_NOT_PLAYABLE" });
    expect(body.detail).toContain(remedy);
  });

  test("while the lender is suspended", async () => {
    const suspended = await aLender(service);
    await suspended.importCases([aRow("LN-1")]);
    const em = service.app.database.em();
    const { id } = (await lenderByCode(em, suspended.code))!;
    await transaction(em, (tx) => suspendLender(tx, id, "asked for"));
    expect((await play("LN-1", "visit", suspended)).body).toMatchObject({ code: "SCENE_NOT_PLAYABLE" });
  });

  test("outside a sandbox, over HTTP and as a command", async () => {
    const live = await startTestService({ hasWorker: false, settings: { ENVIRONMENT: "live" } });
    const customer = await aLender(live);
    await customer.importCases([aRow("LN-1")]);
    expect(await play("LN-1", "visit", customer)).toMatchObject({ status: 403, body: { code: "SANDBOX_ONLY" } });
    const cli = commandsInProcess({ DATABASE_URL: live.databaseUrl, ENVIRONMENT: "live" });
    const { code, stderr } = await cli("sandbox", "play", customer.code, "LN-1", "visit");
    expect(code).toBe(1);
    expect(stderr).toContain("only in a sandbox");
    expect(await loanEvents(live, customer.code, "LN-1")).toHaveLength(1);
  });
});

describe("the command `sandbox play`", () => {
  let cli: ReturnType<typeof commandsInProcess>;
  beforeAll(() => {
    cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  });

  test("plays a scene and lists its events", async () => {
    const loan = await aLoan();
    const { events } = await cli.json("sandbox", "play", lender.code, loan, "link-paid");
    expect(events).toMatchObject(KINDS["link-paid"].map((kind) => ({ kind })));
    const { code, stdout } = await cli("sandbox", "play", lender.code, loan, "visit");
    expect(code).toBe(0);
    expect(stdout).toContain(`Played visit on ${loan}.`);
  });

  test("names an unknown loan and scene", async () => {
    expect((await cli("sandbox", "play", lender.code, "LN-NONE", "visit")).code).toBe(3);
    expect((await cli("sandbox", "play", lender.code, "LN-NONE", "party")).code).toBe(2);
    const loan = await aLoan({ outstandingAmount: 5 });
    await lender.importCases([{ sourceLoanNumber: loan, action: "hold", reason: "dispute" }]);
    expect(await cli("sandbox", "play", lender.code, loan, "visit")).toMatchObject({ code: 1 });
  });
});
