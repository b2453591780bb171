import { readFileSync } from "node:fs";
import { accessibilityFindings, type Browser, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { beforeAll, expect, test } from "vitest";
import { callsStage, type CallsStage } from "../fixtures/calls-stage.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { linkPath } from "./fixtures/visitor.ts";

let service: TestService;
let stage: CallsStage;
let open: Awaited<ReturnType<Browser["open"]>>;

beforeAll(async () => {
  service = await startTestService({ settings: { WEBHOOK_LADDER: "0s,1h" } });
  stage = await callsStage(service);
  const browser = await startBrowser();
  afterFile(() => browser.close());
  const { path } = await linkPath(service, "Lata");
  open = await browser.open(service.url + path, { screen: "desktop", colorScheme: "light" });
  await open.page.getByRole("button", { name: "Sign in" }).click();
  await open.page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
});

/** Clicks an entry of the menu. */
async function menu(name: string): Promise<void> {
  await open.page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await open.page.getByRole("heading", { level: 1, name }).waitFor();
}

async function search(text: string): Promise<void> {
  await menu("Search");
  await open.page.getByRole("searchbox").fill(text);
  await open.page.getByRole("button", { name: "Search" }).click();
}

async function press(name: string): Promise<void> {
  await open.page.getByRole("button", { name, exact: true }).click();
}

async function follow(name: string | RegExp): Promise<void> {
  await open.page
    .getByRole("link", { name, exact: typeof name === "string" })
    .first()
    .click();
}

/** Waits for a text on the page. */
async function sees(text: string | RegExp): Promise<void> {
  await expect.poll(() => open.page.locator("main").innerText()).toMatch(text);
}

/** Answers each call of docs/operations.md in the console, in this order. */
const ANSWERS: Readonly<Record<string, () => Promise<void>>> = {
  async "The borrower has paid"() {
    await search("UTR4711");
    await open.page.locator('.results a[href$="/LN-1001"]').first().click();
    await sees(/UTR4711[^]*1,000\.00|1,000\.00[^]*UTR4711/);
  },
  async "no webhooks since nine"() {
    await menu("Lenders");
    await open.page.getByRole("table").getByRole("link").first().click();
    await sees(/Last failure[^]*500/);
    await sees(/Remedy/);
    stage.setup.lender.receiverBehaviour = "ok";
    await menu("Connection");
    await press("Send a test call");
    await open.page.getByRole("heading", { level: 2, name: "Answer" }).waitFor();
    await sees(/200/);
  },
  async "Asha has left"() {
    await menu("Field partners");
    await open.page.getByLabel("Name or end of the phone").fill("Asha");
    await press("Show");
    await open.page.getByRole("row", { name: /091/ }).getByRole("link").first().click();
    await follow("Move all cases");
    await open.page.getByRole("searchbox").fill("Ravi Iyer");
    await press("Search");
    await sees(/Ravi Iyer[^]*4[^]*17,000\.00/);
    await open.page.getByLabel("Reason").fill("Asha has left");
    await press("Move 4 cases");
    await sees(/The cases are moved/);
    await open.page.goto(`${service.url}/console/field-partners/${stage.people.asha}`);
    await follow("Suspend");
    await open.page.getByLabel("Reason").fill("has left");
    await press("Suspend Asha Rao");
    await sees(/Asha Rao is suspended/);
  },
  async "on the wrong loan"() {
    await openPayment("LN-1002", "UTR4712");
    const form = formWith("toLoan");
    await form.getByLabel("Loan to which the payment belongs").fill("LN-1003");
    await form.getByLabel("Reason, for the audit").fill("asked by Acme");
    await form.getByRole("button", { name: "Show the effects" }).click();
    await press("Move the payment");
    await sees(/The payment is moved/);
  },
  async "cheque has bounced"() {
    await openPayment("LN-1004", "UTR4713");
    const form = formWith("reversalReference");
    await form.getByLabel("The lender's id of the reversal").fill("RET-1");
    await form.getByLabel(/When the money was returned/).fill(`${stage.yesterday}T15:30`);
    await form.getByLabel("Reason, which the lender sees").selectOption("bounced");
    await form.getByRole("button", { name: "Show the effects" }).click();
    await sees(/1,000\.00/);
    await press("Reverse the payment");
    await sees(/The payment is reversed[^]*RET-1[^]*Bounced/);
  },
  async "214 payments, and yours 213"() {
    await menu("Import");
    await follow("Compare the payments of a day");
    await open.page.getByLabel("Day of the payments").fill(stage.yesterday);
    await open.page.getByLabel("File", { exact: true }).setInputFiles(stage.paymentsFile);
    await press("Upload and check");
    await expect.poll(async () => (await open.page.reload(), open.page.locator("main").innerText())).toMatch(/UTR4799/);
    await sees(/Only yours/);
    await follow("Book the missing payment");
    await sees(/LN-1004\s+UTR4799\s+5\s+250\.00/);
    await open.page.getByLabel("Reason").fill("asked by Acme");
    await press("Book 1 payment");
    await sees(/1 payment is booked/);
    await follow("The comparison");
    await expect
      .poll(async () => (await open.page.reload(), open.page.locator("main").innerText()))
      .toMatch(/Matched\s+3/);
    expect(await open.page.locator("main").innerText()).not.toMatch(/Only yours\s+1/);
  },
  async "door at 21:30"() {
    await openCase("LN-1001");
    await sees(/Asha Rao[^]*promise to pay/);
    await sees(/m from the address/);
  },
  async "which share"() {
    await openCase("LN-1000");
    await sees(/UTR4710/);
    await menu("Payments");
    await follow("Fees");
    await sees(/LN-1000[^]*125\.00/);
  },
  async "today going"() {
    await menu("Today");
    await sees(/Payments\s+6/);
    await sees(/Unassigned cases\s+2/);
  },
  async "promises are due"() {
    await menu("Cases");
    await open.page.getByLabel("Promise due on").fill(stage.promisedDay);
    await press("Show");
    await sees(/LN-1001/);
    expect(await open.page.locator("main").innerText()).not.toMatch(/LN-1002/);
  },
  async "assigned to nobody"() {
    await menu("Cases");
    await follow(/^Unassigned/);
    await sees(/LN-1005[^]*LN-1006/);
    await follow("Spread unassigned cases");
    await open.page.getByLabel(/^Field partners/).fill("Ravi Iyer\nMeera Nair");
    await press("Show who would get what");
    await sees(/Meera Nair\s+\S+\s+1[^]*Ravi Iyer\s+\S+\s+1/);
    await press("Assign 2 cases");
    await sees(/The cases are assigned/);
  },
  async "looked at this borrower"() {
    await search("Sunita Devi");
    await follow("Sunita Devi");
    await openCase("LN-1001");
    await sees(/contact seen[^]*Asha Rao/i);
  },
  async "settings of this lender"() {
    await open.page.goto(`${service.url}/console/audit?act=lender.`);
    await sees(/commission percent 2\.5 → 3/);
  },
  async "owe to whom"() {
    await menu("Money");
    await sees(/Asha Rao[^]*125\.00/);
  },
  async "new SIM"() {
    await menu("Field partners");
    await open.page.getByLabel("Name or end of the phone").fill("Ravi Iyer");
    await press("Show");
    await open.page.getByRole("table").getByRole("link", { name: "Ravi Iyer" }).click();
    await follow("Change the phone number");
    await open.page.getByLabel("New phone number").fill("+919820000099");
    await open.page.getByLabel("Reason").fill("New SIM");
    await press("Change the phone number");
    await sees(/Ravi Iyer now has the phone .*099/);
  },
};

test("each call of docs/operations.md has its answer in the console", () => {
  const page = readFileSync(new URL("../../../../docs/operations.md", import.meta.url), "utf8");
  const section = page.split("\n## Fifteen calls\n")[1]!.split("\n## ")[0]!;
  const titles = [...section.matchAll(/^### (.*)$/gm)].map(([, title]) => title!);
  const known = Object.keys(ANSWERS);
  expect(titles.map((title, place) => title.includes(known[place] ?? "?"))).toEqual(
    Array.from({ length: 15 }, () => true),
  );
});

test.each(Object.entries(ANSWERS))("the console answers the call '%s'", async (name, answer) => {
  await answer();
  expect({ name, findings: await accessibilityFindings(open.page) }).toEqual({ name, findings: [] });
});

test("the calls need no other host and cause no error", () => {
  expect(open.requestsElsewhere()).toEqual([]);
  expect(open.errors).toEqual([]);
});

/** Returns the form with a field. */
function formWith(field: string) {
  return open.page.locator("form", { has: open.page.locator(`[name="${field}"]`) });
}

async function openCase(loan: string): Promise<void> {
  await search(loan);
  await open.page.locator(`.results a[href$="/${loan}"]`).first().click();
  await open.page.getByRole("heading", { level: 2, name: "Timeline" }).waitFor();
}

async function openPayment(loan: string, reference: string): Promise<void> {
  await menu("Money");
  const find = open.page.locator("form.act");
  await find.getByLabel("Lender").selectOption("ACME");
  await find.getByLabel("Loan").fill(loan);
  await find.getByLabel("Reference").fill(reference);
  await find.getByRole("button").click();
  await open.page.getByRole("heading", { level: 1, name: `Payment ${reference}` }).waitFor();
}
