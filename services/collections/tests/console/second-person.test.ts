import { publicId } from "@collections/database";
import { sessionsWaitingForLocks, until } from "@collections/testing";
import type { PoolClient } from "pg";
import { beforeAll, expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { aSignedInVisitor, type ConsoleAnswer, fieldsIn, type Visitor } from "./fixtures/visitor.ts";

let service: TestService;
let asha: Visitor;
let ravi: Visitor;
let paymentsMade = 0;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false, settings: { CONSOLE_SECOND_PERSON_ABOVE: "INR:100" } });
  asha = await aSignedInVisitor(service, ["money"], "Asha");
  ravi = await aSignedInVisitor(service, ["money"], "Ravi");
});

function cli() {
  return commandsInProcess({ DATABASE_URL: service.databaseUrl });
}

async function aPayment(amount: number) {
  paymentsMade += 1;
  const setup = await visitSetup(service);
  const { loan } = await setup.assignedCase();
  const reference = `UTR${paymentsMade}`;
  await setup.lender.confirm(loan, { amount, reference, paidAt: new Date().toISOString(), mode: "upi" });
  return { setup, lenderCode: setup.lender.code, loan, reference };
}

type Payment = Awaited<ReturnType<typeof aPayment>>;

/** Asks for a reversal as Asha, and returns the answer to the form. */
async function askToReverse({ lenderCode, loan, reference }: Payment, more = {}): Promise<ConsoleAnswer> {
  const at = { reversalReference: `RV-${reference}`, reversedAt: new Date().toISOString() };
  const order = { kind: "reversal", lenderCode, loan, reference, ...at, amount: "", because: "bounced", ...more };
  const effects = await asha.get(`/console/money/changes?${new URLSearchParams(order).toString()}`);
  return asha.post("/console/money/changes", fieldsIn(effects));
}

async function decide(visitor: Visitor, path: string, decision: "confirm" | "decline") {
  return visitor.post(`${path}/${decision}`, fieldsIn(await visitor.get(path)));
}

async function reversalsOf({ lenderCode, loan, reference }: Payment): Promise<object[]> {
  const { reversals } = await cli().json("payment", "show", lenderCode, loan, reference);
  return reversals as object[];
}

test("a change above the limit is made when another operator confirms it", async () => {
  const payment = await aPayment(2_000);
  const asked = await askToReverse(payment);
  const path = asked.headers.get("location")!;
  expect(path).toMatch(/^\/console\/money\/requests\/req_[0-9a-f]{32}$/);
  expect(await reversalsOf(payment)).toEqual([]);
  const own = await asha.get(path);
  expect(own.text).toContain("another operator with the role money confirms the change");
  expect(own.text).not.toContain(`${path}/confirm`);
  expect((await ravi.get("/console/money/requests")).text).toContain(`href="${path}"`);
  expect((await ravi.get(path)).text).toContain("3,000.00 INR → 5,000.00 INR");
  const answer = await decide(ravi, path, "confirm");
  expect({ status: answer.status, to: answer.headers.get("location") }).toEqual({ status: 303, to: path });
  expect(await reversalsOf(payment)).toMatchObject([{ amount: "2000.00", reason: "bounced" }]);
  expect((await asha.get(path)).text).toMatch(/Confirmed[^]*Decided by[^]*Ravi/);
  const { entries } = (await cli().json("audit", "list", "--act", "payment.reversed")) as { entries: object[] };
  expect(entries[0]).toMatchObject({ by: "operator:Ravi", reason: "bounced (asked for by Asha)" });
  const { entries: both } = (await cli().json("audit", "list", "--act", "operator.change_")) as { entries: object[] };
  expect(both.slice(0, 2)).toMatchObject([
    { by: "operator:Ravi", act: "operator.change_confirmed", operator: "Asha" },
    { by: "operator:Asha", act: "operator.change_requested", operator: "Asha" },
  ]);
});

test("the operator who asked cannot confirm, but can withdraw", async () => {
  const payment = await aPayment(2_000);
  const path = (await askToReverse(payment)).headers.get("location")!;
  expect(await decide(asha, path, "confirm")).toMatchObject({
    status: 422,
    text: expect.stringContaining("another operator with the role money confirms it") as string,
  });
  const fields = fieldsIn(await ravi.get(path));
  expect(await decide(asha, path, "decline")).toMatchObject({ status: 303 });
  const late = await ravi.post(`${path}/confirm`, fields);
  expect(late).toMatchObject({ status: 422, text: expect.stringContaining("Declined") as string });
  expect(await reversalsOf(payment)).toEqual([]);
});

test("a request is decided once, also by concurrent forms", async () => {
  const payment = await aPayment(2_000);
  const path = (await askToReverse(payment)).headers.get("location")!;
  const meena = await aSignedInVisitor(service, ["money"], "Meena");
  const forms = await Promise.all(
    [ravi, meena, ravi].map(async (one) => [one, fieldsIn(await one.get(path))] as const),
  );
  const answers = await Promise.all(forms.map(([one, fields]) => one.post(`${path}/confirm`, fields)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 422, 422]);
  expect(await reversalsOf(payment)).toHaveLength(1);
});

test("a request expires, and a change that is not possible any more is not confirmed", async () => {
  const { pool } = service.app.database;
  const [expired, changed] = [await aPayment(2_000), await aPayment(2_000)];
  const expiredPath = (await askToReverse(expired)).headers.get("location")!;
  const fields = fieldsIn(await ravi.get(expiredPath));
  await pool.query("update operators.second_person_request set expires_at = now() where decided_at is null");
  const late = await ravi.post(`${expiredPath}/confirm`, fields);
  expect(late).toMatchObject({ status: 422, text: expect.stringContaining("The request has ended") as string });
  expect((await ravi.get(expiredPath)).text).toContain("Expired");
  const path = (await askToReverse(changed)).headers.get("location")!;
  const { lenderCode, loan, reference } = changed;
  const at = ["--reversal-reference", "RV-CLI", "--reversed-at", new Date().toISOString(), "--reason", "bounced"];
  await cli().json("payment", "reverse", lenderCode, loan, reference, ...at, "--amount", "1500", "--yes");
  const answer = await decide(ravi, path, "confirm");
  expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("have left 500.00 INR") as string });
  expect(await reversalsOf(expired)).toEqual([]);
  expect(await reversalsOf(changed)).toHaveLength(1);
});

test("a small part of a large payment needs a second person, a small payment does not", async () => {
  const [large, small] = [await aPayment(100.01), await aPayment(100)];
  expect((await askToReverse(large, { amount: "1" })).headers.get("location")).toContain("/console/money/requests/");
  expect((await askToReverse(small)).headers.get("location")).toContain("/console/money/payments/");
  expect([await reversalsOf(large), (await reversalsOf(small)).length]).toEqual([[], 1]);
});

test("a payout and a move above the limit wait for a second person, too", async () => {
  const payment = await aPayment(5_000);
  const { setup, lenderCode, loan, reference } = payment;
  const person = publicId("fp", setup.fieldPartnerId);
  const payout = { ...fieldsIn(await asha.get(`/console/money/payouts/${person}`)), reference: `PO-${reference}` };
  const { loan: toLoan } = await setup.assignedCase();
  const orders = [
    { ...payout, paidOn: new Date().toISOString().slice(0, 10) },
    { kind: "move", lenderCode, loan, reference, toLoan, note: "Asked by Acme" },
  ];
  const paths: string[] = [];
  for (const order of orders) {
    const effects = await asha.get(`/console/money/changes?${new URLSearchParams(order).toString()}`);
    paths.push((await asha.post("/console/money/changes", fieldsIn(effects))).headers.get("location")!);
  }
  for (const path of paths) {
    expect(path).toContain("/console/money/requests/");
    expect(await decide(ravi, path, "confirm")).toMatchObject({ status: 303 });
  }
  const { payouts } = (await cli().json("payout", "list", "--field-partner", person)) as { payouts: object[] };
  expect(payouts).toMatchObject([{ amount: "125.00" }]);
  expect(await reversalsOf(payment)).toMatchObject([{ reason: "wrong_loan" }]);
});

/** Holds the request's row, has Ravi confirm it, and runs `act` after the change is written and before it is confirmed. */
async function whileConfirming<T>(path: string, act: (holder: PoolClient) => Promise<T>) {
  const fields = fieldsIn(await ravi.get(path));
  const { pool } = service.app.database;
  const holder = await pool.connect();
  try {
    await holder.query("begin; select from operators.second_person_request for update");
    const answer = ravi.post(`${path}/confirm`, fields);
    await until(async () => (await sessionsWaitingForLocks(pool, "%second_person_request%")) > 0);
    return { answer, result: await act(holder) };
  } finally {
    await holder.query("rollback");
    holder.release();
  }
}

const KILL = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%second_person_request%'`;

test("a lost confirmation undoes its change", async () => {
  const payment = await aPayment(2_000);
  const path = (await askToReverse(payment)).headers.get("location")!;
  const { answer, result } = await whileConfirming(path, (holder) => holder.query(KILL));
  expect(result.rowCount).toBe(1);
  expect(await answer).toMatchObject({ status: 503 });
  expect(await reversalsOf(payment)).toEqual([]);
  expect((await ravi.get(path)).text).toContain("Waiting");
  expect(await decide(ravi, path, "confirm")).toMatchObject({ status: 303 });
  expect(await reversalsOf(payment)).toHaveLength(1);
});

test("a change that fails leaves its request unconfirmed", async () => {
  const payment = await aPayment(2_000);
  const path = (await askToReverse(payment)).headers.get("location")!;
  const { pool } = service.app.database;
  // A dry run sends no audit entry, so only the change itself fails.
  await pool.query(
    "alter table lenders.audit_entry add constraint injected check (act <> 'payment.reversed') not valid",
  );
  expect(await decide(ravi, path, "confirm")).toMatchObject({ status: 503 });
  await pool.query("alter table lenders.audit_entry drop constraint injected");
  expect((await ravi.get(path)).text).toContain("Waiting");
  const answers = await Promise.all([ravi, ravi].map((one) => decide(one, path, "confirm")));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 422]);
  expect(await reversalsOf(payment)).toHaveLength(1);
});

test("a third operator confirms after a lost confirmation", async () => {
  const payment = await aPayment(2_000);
  const path = (await askToReverse(payment)).headers.get("location")!;
  await (
    await whileConfirming(path, (holder) => holder.query(KILL))
  ).answer;
  const kiran = await aSignedInVisitor(service, ["money"], "Kiran");
  expect(await decide(kiran, path, "confirm")).toMatchObject({ status: 303 });
  expect(await reversalsOf(payment)).toHaveLength(1);
});

test("a request that ends before its confirmation changes nothing", async () => {
  const payment = await aPayment(2_000);
  const path = (await askToReverse(payment)).headers.get("location")!;
  const end = "update operators.second_person_request set expires_at = now() where decided_at is null; commit";
  const { answer } = await whileConfirming(path, (holder) => holder.query(end));
  const ended = { status: 422, text: expect.stringContaining("The request has ended") as string };
  expect(await answer).toMatchObject(ended);
  expect(await reversalsOf(payment)).toEqual([]);
});
