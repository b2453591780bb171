import { type Browser, startBrowser } from "@collections/browser";
import { publicId } from "@collections/database";
import { afterFile, until } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import type { UploadJob } from "../../src/table-file/upload/upload-schema.ts";
import { runUpload } from "../../src/worker/run-upload.ts";
import { recordRequests, startWorker } from "../../src/worker/worker.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { dayFromNow, type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";
import { pageFaults } from "./fixtures/page-faults.ts";
import { linkPath } from "./fixtures/visitor.ts";

let service: TestService;
let browser: Browser;
let movePath: string;
let visitedLoan: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false, settings: { WEBHOOK_LADDER: "0s,1h" } });
  const setup = await visitSetup(service);
  const rows = ["LN-1", "LN-2", "LN-3", "LN-4"].map((loan, index) => aRow(loan, { dpd: index * 40 }));
  await setup.lender.importCases(rows);
  /** A payment earns a commission if the field partner has the case at `paidAt`. */
  const pay = async (loan: string, amount: number, reference: string, mode: string) => {
    const payment = { amount, reference, paidAt: new Date().toISOString(), mode };
    requireStatus(200, await setup.lender.confirm(loan, payment));
  };
  await pay("LN-1", 1_250.5, "U1", "upi");
  await pay("LN-2", 6_000, "U2", "upi");
  const promise = { amount: { minor: "100000", currency: "INR" }, dueOn: dayFromNow(3) };
  // The first case is paid off, so that its commission is due.
  for (const [amount, end] of [
    [5_000, { disposition: "NOT_AT_HOME" }],
    [2_000, { disposition: "REFUSED_TO_PAY", note: "Will call the branch" }],
    [2_000, { disposition: "PROMISE_TO_PAY", promise }],
  ] as const) {
    const { visitId, loan } = await setup.visit();
    await setup.request(visitId);
    const completed = { visitId, occurredAt: new Date().toISOString(), ...end };
    await setup.app.mutate("completeVisit", completed, "visit { visitId }");
    await pay(loan, amount, `UTR-${loan}`, "bank_transfer");
    visitedLoan = loan;
  }
  for (const loan of ["LN-1", "LN-4"]) await assign(service, setup.lender.code, loan, setup.fieldPartnerId);
  const [from, to] = [setup.fieldPartnerId, (await aFieldPartner(service)).id].map((id) => publicId("fp", id));
  movePath = `${from}/move?person=${to}`;
  const other = await aLender(service);
  await other.importCases([aRow("LN-77"), aRow("LN-77-A", { borrowerName: "Meena Kumari Venkatasubramanian" })]);
  await pay("LN-4", 1_000, "U3", "cheque");
  const takeBack = async (loan: string, reference: string) => {
    const reversal = { reference, reversalReference: `RV-${loan}`, amount: 250, reason: "bounced" };
    requireStatus(200, await setup.lender.reverse(loan, { ...reversal, reversedAt: new Date().toISOString() }));
  };
  await takeBack("LN-1", "U1");
  await takeBack("LN-4", "U3");
  await failFirstDelivery(setup.lender);
  await setup.lender.call("GET", "/api/v1/partner/health");
  await setup.lender.call("GET", "/api/v1/partner/health", "", { hmacSecret: "another" });
  await setup.lender.call("GET", "/api/v1/partner/cases/LN-NONE");
  await recordRequests(service.app).stop();
  browser = await startBrowser();
  afterFile(() => browser.close());
});

const FILE = Buffer.from(
  "Loan No,Customer Name,Mob No,POS,Next Due Date,Nickname\nLN-8,Ravi Kumar,9820000001,1250,05/12/2026,x\nLN-9,Asha,12,1,,\n",
);

const PAYMENTS = Buffer.from(
  "Loan No,UTR,Amount Paid,Payment Date\nLN-1,U9,100,2026-11-20 10:00\nLN-2,U10,five,2026-11-20 11:00\n",
);

function requireStatus(status: number, answer: { readonly status: number; readonly rawBody: string }): void {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.rawBody}`);
}

/** Has the callback refuse the first attempts of the deliveries, and then stops the worker. */
async function failFirstDelivery(lender: VisitSetup["lender"]): Promise<void> {
  lender.receiverBehaviour = "error500";
  const { pool } = service.app.database;
  const worker = await startWorker(service.app);
  await until(async () => {
    const { rows } = await pool.query("select from webhooks.delivery where state = 'retrying' limit 1");
    return rows.length > 0;
  });
  await worker.stop(2_000);
  lender.receiverBehaviour = "ok";
}

/** Runs the jobs of the uploads that wait for a worker. */
async function checkUploads(): Promise<void> {
  const { pool } = service.app.database;
  const { rows } = await pool.query<UploadJob>(
    `select lender_id as "lenderId", id as "uploadId" from uploads.upload where state = 'waiting'`,
  );
  for (const data of rows) await runUpload(service.app, { data, attempt: 1 });
}

test.each(["desktop", "phone"] as const)("the console works in Chromium: %s, light and dark", async (screen) => {
  const { path } = await linkPath(service, "Asha Rao");
  const open = await browser.open(service.url + path, { screen });
  const { page } = open;
  // A fault does not end the test, so that one run finds the faults of all pages.
  const look = async (name: string) => {
    expect.soft({ name, faults: await pageFaults(open, name) }).toEqual({ name, faults: [] });
  };
  /** A phone shows the filters of a list behind a line. */
  const openFilters = async () => {
    const line = page.locator(".filters > summary");
    expect(await line.isVisible()).toBe(screen === "phone");
    if (screen === "phone") await line.click();
  };
  /** The page also loads itself again, perhaps before the click. Then the heading is clicked, which changes nothing. */
  const loadNow = async () => {
    const heading = page.getByRole("heading", { level: 1 });
    await heading
      .or(page.getByRole("link", { name: "Load it now" }))
      .last()
      .click();
  };
  await look("sign-in");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
  // The cases are counted in the background.
  await expect.poll(async () => (await page.reload(), page.locator(".ages").count())).toBe(1);
  await look("today");
  await page.getByText("Payments by hour as a table").click();
  await look("today-table");
  await page.getByRole("link", { name: "Search" }).click();
  await page.getByRole("heading", { level: 1, name: "Search" }).waitFor();
  await look("search");
  await page.getByRole("searchbox").fill("LN-77");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("status").waitFor();
  await look("results");
  await page.getByRole("searchbox").fill("LN-1");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("link", { name: "Ravi Kumar" }).first().click();
  await page.getByRole("heading", { level: 2, name: "Timeline" }).waitFor();
  await look("case");
  const caseUrl = page.url();
  await page.getByRole("link", { name: "Assign to somebody else" }).click();
  await page.getByRole("searchbox").fill("Asha");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator(".people a").first().waitFor();
  await look("people");
  await page.locator(".people a").last().click();
  await page.getByRole("button", { name: "Assign the case" }).waitFor();
  await look("assign");
  await page.goto(`${caseUrl}/hold`);
  await look("hold");
  await page.getByLabel("Reason").fill("The borrower disputes the debt");
  await page.getByRole("button", { name: "Hold the case" }).click();
  await page.getByText("The case is on hold.").waitFor();
  await look("held");
  await page.getByRole("link", { name: "Release the case" }).click();
  await page.getByRole("button", { name: "Release the case" }).click();
  await page.getByText("The case is released.").waitFor();
  await page.goto(caseUrl.replace("/LN-1", `/${visitedLoan}`));
  await page.getByRole("heading", { level: 2, name: "Timeline" }).waitFor();
  await look("visited-case");
  await page.goto(`${service.url}/console/field-partners/${movePath}`);
  await look("move");
  const personId = movePath.split("/", 1)[0];
  await page.goto(`${service.url}/console/field-partners/${personId}/suspend`);
  await look("suspend");
  await page.goto(`${service.url}/console/field-partners/${personId}/phone`);
  await look("phone-number");
  await page.goto(`${service.url}/console/cases`);
  await page.getByRole("link", { name: "Spread unassigned cases" }).click();
  await page.getByLabel(/^Field partners/).fill("Asha");
  await page.getByRole("button", { name: "Show who would get what" }).click();
  await page.getByText("Give the id of one of them").waitFor();
  await look("spread-unclear");
  await page.getByLabel(/^Field partners/).fill(personId!);
  await page.getByRole("button", { name: "Show who would get what" }).click();
  await page.getByRole("heading", { name: "Who would get what" }).waitFor();
  await look("spread");
  await page.getByRole("link", { name: "Connection" }).click();
  await page.getByRole("heading", { level: 1, name: "Connection" }).waitFor();
  await look("connection");
  await page.getByRole("button", { name: "Send a test call" }).click();
  await page.getByRole("heading", { level: 2, name: "Request" }).waitFor();
  await look("callback-test");
  await page.getByRole("link", { name: "Connection" }).last().click();
  await page.getByRole("link", { name: "Change the settings" }).click();
  await look("settings");
  await page.getByLabel("Technical contacts").fill(`dev@acme.example\n${screen}@acme.example`);
  await page.getByRole("button", { name: "Save the settings" }).click();
  await page.getByText("The settings are saved.").waitFor();
  await look("saved-settings");
  await page.getByRole("link", { name: "Mint a test link" }).click();
  await page.getByLabel("Loan").fill("LN-1");
  await look("mint-test");
  await page.getByRole("button", { name: "Call the mint endpoint" }).click();
  await page.getByRole("heading", { level: 2, name: "Answer" }).waitFor();
  await look("minted-test");
  await page.getByRole("link", { name: "Connection" }).first().click();
  await page.getByRole("link", { name: "Create a key" }).click();
  await look("new-key");
  await page.getByRole("button", { name: "Create the key" }).click();
  await page.getByRole("heading", { level: 2, name: "HMAC secret" }).waitFor();
  await look("created-key");
  await page.getByRole("link", { name: "I have stored the secret" }).click();
  await page.getByRole("link", { name: "Retire" }).last().click();
  await look("retire-key");
  await page.getByRole("link", { name: "Sandbox" }).click();
  await page.getByLabel("Loan").fill("LN-1");
  await page.getByLabel("Reassignment").check();
  await look("sandbox");
  await page.getByRole("button", { name: "Play the scene" }).click();
  await page.getByRole("table").waitFor();
  await look("played");
  await page.getByRole("link", { name: "Connection" }).first().click();
  await page.getByRole("link", { name: "Requests", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Requests" }).waitFor();
  await look("requests");
  await page.getByRole("link", { name: "Import", exact: true }).click();
  await page
    .getByLabel("File", { exact: true })
    .setInputFiles({ name: "cases.csv", mimeType: "text/csv", buffer: FILE });
  await page.getByText("Options for reading the file").click();
  await look("import");
  await page.getByRole("button", { name: "Upload and check" }).click();
  await page.getByText("The file is being checked").waitFor();
  // The page loads itself again, which must not happen in the middle of the look: 204 keeps a page as it is.
  await page.route(page.url(), (route) => route.fulfill({ status: 204 }));
  await look("upload-waiting");
  await page.unroute(page.url());
  await checkUploads();
  await loadNow();
  await page.getByRole("button", { name: "Apply the file" }).waitFor();
  await look("upload-checked");
  await page.getByRole("link", { name: "Import", exact: true }).click();
  await page.getByRole("table", { name: "Uploads" }).waitFor();
  await look("uploads");
  await page.getByRole("link", { name: "Compare the payments of a day" }).click();
  await page.getByLabel("Day of the payments").fill("2026-11-20");
  await look("compare");
  await page
    .getByLabel("File", { exact: true })
    .setInputFiles({ name: "day.csv", mimeType: "text/csv", buffer: PAYMENTS });
  await page.getByRole("button", { name: "Upload and check" }).click();
  await page.getByText("The file is being checked").waitFor();
  await checkUploads();
  await loadNow();
  await page.getByRole("heading", { level: 3, name: "Only yours" }).waitFor();
  await look("compared");
  await page.getByRole("link", { name: "Book the missing payment" }).click();
  await page.getByRole("button", { name: "Book 1 payment" }).waitFor();
  await look("missing");
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByRole("link", { name: /^rec_/ }).click();
  await page.getByRole("heading", { level: 2, name: "Only yours" }).waitFor();
  await look("reconciliation");
  await page.getByRole("link", { name: "Reconciliations", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Reconciliations" }).waitFor();
  await look("reconciliations");
  await page.getByRole("link", { name: "Payments", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Payments" }).waitFor();
  await look("payments");
  await page.getByRole("link", { name: "Reversals", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Payments" }).waitFor();
  await look("reversals");
  await page.getByRole("link", { name: "Fees", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Fees" }).waitFor();
  await page.getByRole("table").waitFor();
  await look("fees");
  await page.getByRole("link", { name: "Deliveries" }).first().click();
  await page.getByRole("heading", { level: 1, name: "Deliveries" }).waitFor();
  await look("deliveries");
  await openFilters();
  await page.getByLabel("State").selectOption("Retrying");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByRole("heading", { level: 2, name: "Attempts" }).waitFor();
  await look("delivery");
  await page.getByRole("link", { name: "Cases", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Cases" }).waitFor();
  const firstRow = await page.locator("tbody tr").first().boundingBox();
  expect(firstRow!.y).toBeLessThan(page.viewportSize()!.height * 0.75);
  await look("cases");
  await openFilters();
  await look("cases-filters");
  await page.getByRole("link", { name: /^Unassigned/ }).click();
  await page.locator(".filters > summary span", { hasText: "Unassigned" }).waitFor({ state: "attached" });
  await look("cases-filtered");
  await page.getByRole("link", { name: "Field partners", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Field partners" }).waitFor();
  await look("field-partners");
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByRole("heading", { level: 2, name: "Sessions" }).waitFor();
  await look("field-partner");
  await page.getByRole("link", { name: "Lenders", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Lenders" }).waitFor();
  await look("lenders");
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByRole("heading", { level: 2, name: "Onboarding" }).waitFor();
  await look("lender");
  await page.getByRole("link", { name: "Money", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Money" }).waitFor();
  await page.getByRole("table", { name: "Payouts due" }).waitFor();
  await look("money");
  await page.getByRole("link", { name: "System", exact: true }).click();
  await page.getByRole("heading", { level: 2, name: "Problems" }).waitFor();
  await look("system");
  await page.getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  await look("audit");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { level: 1, name: "Signed out" }).waitFor();
  await page.goto(`${service.url}/console`);
  await look("no-session");
  expect(open.requestsElsewhere()).toEqual([]);
  expect(open.errors.filter((text) => !text.includes("401"))).toEqual([]);
  await open.close();
});

test("the console is used by keyboard alone", async () => {
  const { path } = await linkPath(service, "Asha Rao");
  const open = await browser.open(service.url + path, { screen: "desktop", colorScheme: "light" });
  const { page } = open;
  const { keyboard } = page;
  const focused = () =>
    page.evaluate<string>("document.activeElement.textContent.trim() || document.activeElement.name");
  /** Presses Tab until a control with this text or name has the focus. */
  const tabTo = async (name: string) => {
    for (let pressed = 0; pressed < 200 && (await focused()) !== name; pressed += 1) await keyboard.press("Tab");
    expect(await focused()).toBe(name);
  };
  await tabTo("Sign in");
  await keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
  await keyboard.press("Tab");
  expect(await focused()).toBe("Skip to the content");
  await keyboard.press("Enter");
  expect(await page.evaluate("document.activeElement.id")).toBe("main");
  await tabTo("Payments by hour as a table");
  await keyboard.press("Enter");
  expect(await page.locator("details").getAttribute("open")).toBe("");
  await keyboard.press("Escape");
  await keyboard.press("Space");
  expect(await page.locator("details").getAttribute("open")).toBeNull();
  await keyboard.press("Shift+Tab");
  await page.goto(`${service.url}/console/search`);
  await tabTo("text");
  await keyboard.type("LN-77-A");
  await keyboard.press("Escape");
  await keyboard.type("LN-77-A");
  await keyboard.press("Enter");
  await page.getByRole("status").waitFor();
  await tabTo("Meena Kumari Venkatasubramanian");
  await keyboard.press("Enter");
  await page.getByRole("heading", { level: 2, name: "Timeline" }).waitFor();
  await tabTo("Hold the case");
  await keyboard.press("Enter");
  await page.getByRole("button", { name: "Hold the case" }).waitFor();
  await tabTo("reason");
  await keyboard.type("The borrower disputes the debt");
  await keyboard.press("Escape");
  await keyboard.press("Enter");
  await page.getByText("The case is on hold.").waitFor();
  expect(open.errors).toEqual([]);
  await open.close();
});
