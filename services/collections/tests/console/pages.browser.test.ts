import { accessibilityFindings, type Browser, startBrowser } from "@collections/browser";
import { publicId } from "@collections/database";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import type { UploadJob } from "../../src/table-file/upload/upload-schema.ts";
import { runUpload } from "../../src/worker/run-upload.ts";
import { recordRequests } from "../../src/worker/worker.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { visitSetup } from "../fixtures/visit-setup.ts";
import { linkPath } from "./fixtures/visitor.ts";

let service: TestService;
let browser: Browser;
let movePath: string;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  const setup = await visitSetup(service);
  await setup.lender.importCases(["LN-1", "LN-2", "LN-3"].map((loan) => aRow(loan)));
  const paidAt = new Date().toISOString();
  await setup.lender.confirm("LN-1", { amount: 1_250.5, reference: "U1", paidAt, mode: "upi" });
  await setup.lender.confirm("LN-2", { amount: 6_000, reference: "U2", paidAt, mode: "upi" });
  for (const disposition of ["NOT_AT_HOME", "NOT_AT_HOME", "REFUSED_TO_PAY"]) {
    const { visitId } = await setup.visit();
    const end = { visitId, occurredAt: new Date().toISOString(), disposition };
    await setup.app.mutate("completeVisit", end, "visit { visitId }");
  }
  await assign(service, setup.lender.code, "LN-1", setup.fieldPartnerId);
  const [from, to] = [setup.fieldPartnerId, (await aFieldPartner(service)).id].map((id) => publicId("fp", id));
  movePath = `${from}/move?person=${to}`;
  const other = await aLender(service);
  await other.importCases([aRow("LN-77"), aRow("LN-77-A", { borrowerName: "Meena Kumari Venkatasubramanian" })]);
  const reversal = { reference: "U1", reversalReference: "RV-1", amount: 250, reason: "bounced" };
  await setup.lender.reverse("LN-1", { ...reversal, reversedAt: new Date().toISOString() });
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

/** Runs the jobs of the uploads that wait for a worker. */
async function checkUploads(): Promise<void> {
  const { pool } = service.app.database;
  const { rows } = await pool.query<UploadJob>(
    `select lender_id as "lenderId", id as "uploadId" from uploads.upload where state = 'waiting'`,
  );
  for (const data of rows) await runUpload(service.app, { data, attempt: 1 });
}
/** Returns the background of a printed page, and the controls that are printed although paper has no use for them. */
const PRINTED = `[
  getComputedStyle(document.documentElement).backgroundColor,
  ...[...document.querySelectorAll("nav a, .person, .act, .choice, .choices, .more, .acts")]
    .filter((one) => one.checkVisibility())
    .map((one) => one.textContent.trim()),
].join(", ")`;

test.each([
  ["desktop", "light"],
  ["desktop", "dark"],
  ["phone", "light"],
  ["phone", "dark"],
] as const)("the console works in Chromium: %s, %s", async (screen, colorScheme) => {
  const { path } = await linkPath(service, "Asha Rao");
  const open = await browser.open(service.url + path, { screen, colorScheme });
  const { page } = open;
  const look = async (name: string) => {
    expect({ name, findings: await accessibilityFindings(page) }).toEqual({ name, findings: [] });
    expect({ name, overflow: await open.overflow() }).toEqual({ name, overflow: 0 });
    await open.screenshot(`console-${name}`);
    await page.emulateMedia({ media: "print" });
    const printed = await page.evaluate(PRINTED);
    expect({ name, printed, overflow: await open.overflow() }).toEqual({
      name,
      printed: "rgb(255, 255, 255)",
      overflow: 0,
    });
    await open.screenshot(`console-${name}-print`);
    await page.emulateMedia({ media: "screen" });
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
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 32 } });
  expect(await open.overflow()).toBe(0);
  await devtools.send("Page.setFontSizes", { fontSizes: { standard: 16, fixed: 16 } });
  await page.getByText("Payments by hour as a table").click();
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
  await page.goto(`${service.url}/console/field-partners/${movePath}`);
  await look("move");
  const personId = movePath.split("/", 1)[0];
  await page.goto(`${service.url}/console/field-partners/${personId}/suspend`);
  await look("suspend");
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
  await page.getByLabel("Technical contacts").fill(`dev@acme.example\n${screen}-${colorScheme}@acme.example`);
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
  await look("upload-waiting");
  await checkUploads();
  await loadNow();
  await page.getByRole("button", { name: "Apply the file" }).waitFor();
  await look("upload-checked");
  await page.getByRole("link", { name: "Import", exact: true }).click();
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
  await page.getByRole("link", { name: /^rec_/ }).click();
  await page.getByRole("heading", { level: 2, name: "Only yours" }).waitFor();
  await look("reconciliation");
  await page.getByRole("link", { name: "Reconciliations", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Reconciliations" }).waitFor();
  await look("reconciliations");
  await page.getByRole("link", { name: "Payments", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Payments" }).waitFor();
  await look("payments");
  await page.getByRole("link", { name: "Fees", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Fees" }).waitFor();
  await look("fees");
  await page.getByRole("link", { name: "Deliveries" }).first().click();
  await page.getByRole("heading", { level: 1, name: "Deliveries" }).waitFor();
  await look("deliveries");
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByRole("heading", { level: 2, name: "Attempts" }).waitFor();
  await look("delivery");
  await page.getByRole("link", { name: "Cases", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Cases" }).waitFor();
  await look("cases");
  await page.getByRole("link", { name: /^Unassigned/ }).click();
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
