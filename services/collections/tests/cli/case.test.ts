import { randomUUID } from "node:crypto";
import { actsOnFieldPartner } from "@collections/field-partners";
import { Client } from "pg";
import { beforeAll, expect, test } from "vitest";
import { aCaseHolder } from "../fixtures/case-holder.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { aRegisteredFieldPartner, type Cli } from "../fixtures/processes.ts";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let cli: Cli;

beforeAll(async () => {
  service = await startTestService();
  lender = await aLender(service);
  cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  await lender.importCases([aRow("LN-1"), aRow("LN/2")]);
  const paid = { amount: 2500, reference: "pay_1", paidAt: "2026-11-20T09:40:55Z", mode: "upi" };
  await lender.confirm("LN/2", paid);
  await lender.waitForEvents((events) => events.length === 3);
});

test("`field-partner create` and `token` register a field partner and issue a working access token", async () => {
  const { fieldPartnerId } = await cli.json(
    ..."field-partner create --phone +919820000001 --time-zone Asia/Kolkata --name".split(" "),
    "Asha Rao",
  );
  expect(fieldPartnerId).toMatch(/^fp_[0-9a-f]{32}$/);
  const issued = await cli.json("field-partner", "token", String(fieldPartnerId));
  expect(issued).toEqual({
    accessToken: expect.stringMatching(/^fpt_[\w-]{43}$/) as string,
    expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
  });
  const app = new AppClient(service.url, String(issued["accessToken"]));
  expect((await app.ask("{ viewer { displayName } }")).data).toEqual({ viewer: { displayName: "Asha Rao" } });
});

test("`field-partner suspend` ends all sessions, and `resume` allows new ones", async () => {
  const { id, accessToken } = await aFieldPartner(service);
  const fieldPartnerId = `fp_${id.replaceAll("-", "")}`;
  const order = (name: string, reason: string) => cli.json("field-partner", name, fieldPartnerId, "--reason", reason);
  expect(await order("suspend", "Phone stolen")).toEqual({
    fieldPartnerId,
    state: "suspended",
    openCases: 0,
    openPromises: 0,
  });
  const { errors } = await new AppClient(service.url, accessToken).ask("{ viewer { id } }");
  expect(errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
  expect(await order("resume", "New phone")).toEqual({ fieldPartnerId, state: "active" });
  expect(await actsOnFieldPartner(service.app.database.em(), id)).toMatchObject([
    { act: "field_partner.resumed", reason: "New phone" },
    { act: "field_partner.suspended", reason: "Phone stolen" },
    { act: "session.started", data: { by: "operator" } },
    { act: "field_partner.created" },
  ]);
});

test("`field-partner suspend` reports open cases and promises, and prevents further assignments", async () => {
  const [other, holder] = [await aLender(service), await aCaseHolder(service)];
  await other.importCases([aRow("OTHER-1")]);
  const fieldPartnerId = `fp_${holder.id.replaceAll("-", "")}`;
  const [promised, ended] = await holder.cases(other, {}, {}, {});
  const promise = { amount: { minor: "100000", currency: "INR" }, dueOn: "2099-12-31" };
  for (const caseId of [promised, ended]) {
    const visitId = randomUUID();
    await holder.app.mutate("startVisit", { visitId, caseId, occurredAt: new Date() }, "visit { visitId }");
    const end = { visitId, disposition: "PROMISE_TO_PAY", promise, occurredAt: new Date() };
    await holder.app.mutate("completeVisit", end, "visit { visitId }");
  }
  const { data } = await holder.app.ask("query ($id: ID!) { case(id: $id) { loanTail } }", { id: ended });
  await cli.json("case", "close", other.code, data!["case"].loanTail as string, "--reason", "written off");

  const suspended = await cli("field-partner", "suspend", fieldPartnerId, "--reason", "on leave");
  expect(suspended.stdout).toBe(
    "Every session has ended.\n" +
      "The person still has 2 open cases with 1 open promise. Other field partners can take them.\n" +
      `Next: case assign ${other.code} --from ${fieldPartnerId} --to <field-partner-id> --dry-run\n`,
  );
  expect(await cli.json("field-partner", "suspend", fieldPartnerId, "--reason", "again")).toMatchObject({
    openCases: 2,
    openPromises: 1,
  });
  const refused = await cli("case", "assign", other.code, "OTHER-1", fieldPartnerId, "--json");
  expect({ code: refused.code, ...JSON.parse(refused.stdout) }).toEqual({
    code: 1,
    error: {
      code: "FIELD_PARTNER_SUSPENDED",
      detail: `Field partner ${fieldPartnerId} is suspended: assign the case to another field partner, or resume this field partner first.`,
    },
  });
  await cli.json("field-partner", "resume", fieldPartnerId, "--reason", "back");
  expect(await cli.json("case", "assign", other.code, "OTHER-1", fieldPartnerId)).toMatchObject({ fieldPartnerId });
});

test("`field-partner create` rejects the phone of an active field partner, and names that field partner", async () => {
  const first = await aRegisteredFieldPartner(cli, "+919820000078");
  const again = ["field-partner", "create", "--name", "Farah Khan", "--phone", "+919820000078", "--json"];
  const { code, stdout } = await cli(...again);
  const detail = `phone: Another active field partner signs in with this number: ${first}.`;
  expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 1, error: { code: "DUPLICATE_PHONE", detail } });
  await cli.json("field-partner", "suspend", first, "--reason", "left");
  const { fieldPartnerId: second } = await cli.json(...again.slice(0, -1));
  const back = await cli("field-partner", "resume", first, "--reason", "returned");
  expect(back).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`this number: ${second as string}.`) as string,
  });
});

test("`field-partner clear-code-limit` lets a phone request one-time passwords again, and records the reason", async () => {
  const [fieldPartnerId, phone] = [await aRegisteredFieldPartner(cli, "+919820000077"), "+919820000077"];
  const app = new AppClient(service.url);
  const ask = async () => (await app.mutate("requestOtp", { phone }, "otpId")).__typename as string;
  const four = [await ask(), await ask(), await ask(), await ask()];
  expect(four).toEqual(["RequestOtpPayload", "RequestOtpPayload", "RequestOtpPayload", "RateLimited"]);

  const clear = (...line: string[]) => cli("field-partner", "clear-code-limit", ...line, "--json");
  const [cleared, unknown, withoutReason] = await Promise.all([
    clear(fieldPartnerId, "--reason", "Called back"),
    clear(`fp_${"0".repeat(32)}`, "--reason", "x"),
    clear(fieldPartnerId),
  ]);
  expect(cleared).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(cleared.stdout)).toEqual({ fieldPartnerId, codes: 3, wrongTries: 0 });
  expect([unknown.code, withoutReason.code]).toEqual([3, 2]);
  expect(await ask()).toBe("RequestOtpPayload");
  const id = fieldPartnerId.slice(3).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  const acts = await actsOnFieldPartner(service.app.database.em(), id);
  expect(acts.filter(({ act }) => act === "otp.limit_cleared")).toMatchObject([
    { reason: "Called back", data: { codes: 3, wrongTries: 0 } },
  ]);
});

test("`case` assigns, unassigns, holds, releases and closes a case, and the lender gets an event for each", async () => {
  const { id } = await aFieldPartner(service);
  const holder = `fp_${id.replaceAll("-", "")}`;
  const order = (name: string, ...more: string[]) => cli.json("case", name, lender.code.toLowerCase(), "LN-1", ...more);
  const open = { sourceLoanNumber: "LN-1", outstandingAmount: "5000.00", currency: "INR" };
  expect(await order("assign", holder)).toEqual({
    ...open,
    caseId: expect.stringMatching(/^case_[0-9a-f]{32}$/) as string,
    status: "assigned",
    fieldWork: "open",
    fieldPartnerId: holder,
    sequence: 2,
  });
  expect(await order("hold", "--reason", "dispute")).toMatchObject({ status: "on_hold", fieldWork: "blocked" });
  expect(await order("release")).toMatchObject({ status: "assigned", fieldWork: "open", sequence: 4 });
  expect(await order("unassign", "--reason", "on leave")).toMatchObject({ status: "new", fieldPartnerId: null });
  const closed = await cli("case", "close", lender.code, "LN-1", "--reason", "settled in court");
  expect(closed).toEqual({ code: 0, stdout: "The case of LN-1 is closed, field work is blocked.\n", stderr: "" });

  await lender.waitForEvents(() => lender.loans.get("LN-1")?.sequence === 6);
  expect(lender.events.filter(({ sourceLoanNumber }) => sourceLoanNumber === "LN-1").map(({ kind }) => kind)).toEqual([
    "case.created",
    "case.assigned",
    "case.held",
    "case.released",
    "case.unassigned",
    "case.returned",
  ]);
  expect(lender.events.find(({ kind }) => kind === "case.held")?.data).toEqual({ reason: "dispute" });
});

test("`case` exits with 1 when the case's state does not allow the change, and with 3 for an unknown loan", async () => {
  const answers = await Promise.all([
    cli("case", "release", lender.code, "LN/2", "--json"),
    cli("case", "hold", lender.code, "LN-404", "--reason", "x", "--json"),
    cli("field-partner", "token", `fp_${"0".repeat(32)}`, "--json"),
  ]);
  expect(answers.map(({ code }) => code)).toEqual([1, 3, 3]);
  expect(answers.map(({ stdout }) => (JSON.parse(stdout) as { error: object }).error)).toEqual([
    { code: expect.stringMatching(/^[A-Z_]+$/) as string, detail: expect.stringMatching(/\.$/) as string },
    { code: "LOAN_NOT_FOUND", detail: "There is no loan LN-404." },
    { code: "FIELD_PARTNER_NOT_FOUND", detail: expect.stringContaining("There is no") as string },
  ]);
  expect((await lender.getCase("LN/2")).body).toMatchObject({ sequence: 2 });
});

test("`endpoint show` shows a callback, `delivery list` shows pages of deliveries, and `delivery show` shows each attempt", async () => {
  const list = ["delivery", "list", "--lender", lender.code, "--loan", "LN/2", "--state", "delivered", "--limit", "1"];
  const paid = lender.events.find(({ kind }) => kind === "payment.collected")!;
  const [endpoint, page, shown] = await Promise.all([
    cli.json("endpoint", "show", lender.code),
    cli.json(...list),
    cli.json("delivery", "show", paid.eventId),
  ]);
  expect(endpoint).toMatchObject({ url: lender.callbackUrl, state: "active", waiting: 0, parked: 0 });
  const delivered = { sourceLoanNumber: "LN/2", state: "delivered", attempts: 1, lastError: null };
  expect(page["deliveries"]).toMatchObject([
    { ...delivered, eventId: paid.eventId, kind: "payment.collected", sequence: 2 },
  ]);
  expect(shown).toMatchObject({
    eventId: paid.eventId,
    state: "delivered",
    body: JSON.parse(paid.rawBody) as object,
    log: [{ number: 1, outcome: "delivered", status: 200 }],
  });
  expect(await cli.json(...list, "--cursor", String(page["nextCursor"]))).toMatchObject({
    deliveries: [{ ...delivered, kind: "case.created", sequence: 1 }],
    nextCursor: null,
  });
});

test("`ledger statement` prints every line of the loan's account, and the totals", async () => {
  const statement = await cli.json("ledger", "statement", lender.code, "LN/2");
  expect(statement).toMatchObject({
    lenderCode: lender.code,
    sourceLoanNumber: "LN/2",
    cases: [
      {
        cycle: 1,
        currency: "INR",
        lines: [
          { sequence: 1, kind: "placement", debit: "5000.00", credit: "0.00", balance: "5000.00" },
          { sequence: 2, kind: "payment", debit: "0.00", credit: "2500.00", balance: "2500.00", reference: "pay_1" },
        ],
        totals: { placed: "5000.00", collected: "2500.00", excess: "0.00", outstanding: "2500.00" },
      },
    ],
  });
});

test("`ledger verify` exits with 0 for unchanged rows, and with 1 and the id of the row after a superuser has changed a byte", async () => {
  expect(await cli.json("ledger", "verify", "--lender", lender.code)).toMatchObject({
    ok: true,
    counts: { bookings: 1, cases: 2 },
    problems: [],
  });
  const bookingId = await flipAByte(service.databaseUrl);
  const json = await cli("ledger", "verify", "--json");
  expect(json).toMatchObject({ code: 1, stderr: "" });
  const { ok, problems } = JSON.parse(json.stdout) as { ok: boolean; problems: object[] };
  expect(ok).toBe(false);
  expect(problems).toContainEqual(expect.objectContaining({ table: "payment_booking", id: bookingId }));
});

/** Changes one byte of a booking while triggers are disabled. Only a superuser can do that. */
async function flipAByte(databaseUrl: string): Promise<string> {
  const superuser = new Client({ connectionString: databaseUrl });
  await superuser.connect();
  await superuser.query("begin; set local citus.propagate_set_commands = 'local'");
  await superuser.query("set local session_replication_role = replica");
  const { rows } = await superuser.query<{ id: string }>(
    "update ledger.payment_booking set raw_mode = 'upj' where raw_mode = 'upi' returning id",
  );
  await superuser.query("commit");
  await superuser.end();
  return rows[0]!.id;
}
