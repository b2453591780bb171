import { actsOn, lenderByCode } from "@collections/lenders";
import { beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { aLenderVisitor, aVisitor, fieldsIn, fieldsOfForm, linkPath, type Visitor } from "./fixtures/visitor.ts";

const PATH = "/console/sandbox";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let staff: Visitor;

beforeAll(async () => {
  service = await startTestService();
  lender = await aLender(service);
  await lender.importCases([aRow("LN-1"), aRow("LN-2")]);
  staff = await aLenderVisitor(service, lender.code);
});

async function play(values: Record<string, string>, visitor = staff) {
  return visitor.post(PATH, { ...fieldsOfForm(await visitor.get(PATH), PATH), lender: lender.code, ...values });
}

test("a scene shows its events, and is audited", async () => {
  const answer = await play({ loan: " LN-1 ", scene: "visit" });
  expect(answer.status).toBe(200);
  expect(answer.text).toContain("The scene was played to its end.");
  const events = [...answer.text.matchAll(/href="\/console(\/deliveries\/evt_[0-9a-f]{32})">([^<]+)</g)];
  expect(events.map(([, , what]) => what)).toEqual(["Case assigned", "Visit started", "Visit completed"]);
  expect(await staff.get(`/console${events[0]![1]!}`)).toMatchObject({ status: 200 });
  const { id } = (await lenderByCode(service.app.database.em(), lender.code))!;
  const acts = (await actsOn(service.app.database.em(), id)).filter(({ act }) => act.startsWith("sandbox."));
  expect(acts).toMatchObject([
    { act: "sandbox.played", data: { loan: "LN-1", scene: "visit", events: 3 } },
    { act: "sandbox.play_started", actor: `operator:Ravi of ${lender.code}` },
  ]);
});

test("a link is minted at the lender's endpoint", async () => {
  const answer = await play({ loan: "LN-2", scene: "link-paid" });
  expect(answer.text).toContain("The scene was played to its end.");
  expect(answer.text).toContain("payment.collected");
  expect(lender.mints).toHaveLength(1);
});

test("a repeated form plays nothing", async () => {
  const fields = {
    ...fieldsOfForm(await staff.get(PATH), PATH),
    lender: lender.code,
    loan: "LN-1",
    scene: "reassignment",
  };
  const answers = await Promise.all([1, 2].map(() => staff.post(PATH, fields)));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 303]);
  const repeat = answers.find(({ status }) => status === 303)!;
  expect(repeat.headers.get("location")).toBe(`${PATH}?lender=${lender.code}&loan=LN-1`);
});

test.each([
  [{ loan: "", scene: "visit" }, "Give the loan"],
  [{ loan: "LN-404", scene: "visit" }, "There is no case of the loan LN-404. Import it first."],
  [{ loan: "LN-1", scene: "party" }, "Choose a scene."],
  [{ loan: "LN-1", scene: "visit", lender: "NONE" }, "There is no such lender."],
])("a form with %j is refused", async (values, problem) => {
  const answer = await play(values);
  expect(answer.status).toBe(422);
  expect(answer.text).toContain(problem);
  expect(answer.text).toContain(`value="${values.loan}"`);
});

test("a lender's staff plays no scene of another lender", async () => {
  const other = await aLender(service);
  await other.importCases([aRow("LN-1")]);
  const answer = await play({ lender: other.code, loan: "LN-1", scene: "visit" });
  expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("There is no such lender.") as string });
});

test("a case that has ended tells what to do", async () => {
  await lender.importCases([aRow("LN-3", { outstandingAmount: 100 })]);
  await lender.confirm("LN-3", { amount: 100, reference: "UTR3", paidAt: new Date().toISOString(), mode: "upi" });
  const answer = await play({ loan: "LN-3", scene: "visit" });
  expect(answer).toMatchObject({ status: 422, text: expect.stringContaining("The case has ended") as string });
});

test("outside a sandbox there is no scene", async () => {
  const origin = "https://desk.example";
  const settings = { DATABASE_URL: service.databaseUrl, ENVIRONMENT: "live", CONSOLE: "on", PUBLIC_URL: origin };
  const live = await startTestService({ hasWorker: false, settings });
  const operator = aVisitor(live);
  const { token } = await linkPath(live, "Kiran", ["operator"]);
  expect(await operator.post("/console/sign-in", { link: token }, origin)).toMatchObject({ status: 303 });
  const page = await operator.get(PATH);
  expect(page).toMatchObject({ status: 404, text: expect.stringContaining("Not a sandbox") as string });
  expect(page.text).not.toContain(">Sandbox</a>");
  const form = fieldsIn(await operator.get(`/console/connection/${lender.code}/keys`));
  const sent = { ...form, lender: lender.code, loan: "LN-1", scene: "visit" };
  expect(await operator.post(PATH, sent, origin)).toMatchObject({ status: 404 });
});
