import type { Browser } from "@collections/browser";
import { LANGUAGES, type LanguageTag } from "@collections/field-app/texts";
import { beforeAll, describe, expect, test } from "vitest";
import { aBrowser, aPhone, type AppPhone } from "./fixtures/app-phone.ts";
import { expectEveryLook } from "./fixtures/every-look.ts";
import { anAssignedCase } from "../fixtures/assigned-case.ts";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aFieldPartner, aLender, startTestService, type TestService } from "../fixtures/fixture.ts";

const LONG_NAME = "श्री रामचंद्र विष्णु कुलकर्णी";
const PHONE_NUMBER = "98000 12345";

let service: TestService;
let browser: Browser;
let lender: Awaited<ReturnType<typeof aLender>>;
let other: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService(), aBrowser()]);
  lender = await aLender(service, { name: "Mahalakshmi Finance" });
  other = await aLender(service, { name: "Sparkasse Köln-Süd", fallbackInstructions: "Mention the loan number." });
});

/** Signs in a field partner on a phone in the given language, with cases that show all that a case can show. */
async function aPhoneWithCases(language: LanguageTag) {
  const { id, accessToken } = await aFieldPartner(service);
  const address = (line1: string) => ({ addresses: [{ line1, city: "Pune", postalCode: "411052", country: "IN" }] });
  const long = await anAssignedCase(service, lender, id, {
    borrowerName: LONG_NAME,
    outstandingAmount: 4_987_654.5,
    dpd: 91,
    ...address("Flat 7, Shanti Apartments, behind the old post office, Karve Nagar"),
  });
  const paid = await anAssignedCase(service, other, id, {
    borrowerName: "Meera Iyer",
    dpd: 1,
    ...address("3, Tilak Road"),
  });
  const held = await anAssignedCase(service, lender, id, { borrowerName: "Annegret Freifrau von Müller-Lüdenscheidt" });
  await lender.importCases([{ sourceLoanNumber: held.loan, action: "hold", reason: "Complaint" }]);
  const paidAt = new Date().toISOString();
  await other.confirm(paid.loan, { amount: 4000, reference: `A-${paid.loan}`, paidAt, mode: "upi" });
  const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const reversal = [
    "--reversal-reference",
    `RV-${paid.loan}`,
    "--reversed-at",
    new Date().toISOString(),
    "--amount",
    "1500",
  ];
  await cli.json(
    "payment",
    "reverse",
    other.code,
    paid.loan,
    `A-${paid.loan}`,
    ...reversal,
    "--reason",
    "bounced",
    "--yes",
  );
  const phone = await aPhone(browser, service.url);
  await phone.page.evaluate(`localStorage.setItem("collections.language", JSON.stringify("${language}"))`);
  await phone.page.reload();
  return { phone, accessToken, long, paid, held };
}

describe.each(Object.keys(LANGUAGES) as LanguageTag[])("every screen of the app in the language %s", (language) => {
  const { texts } = LANGUAGES[language];

  test("fits at 360 and 412 pixels with text of 100 and 200 %, and has no finding of axe in light, dark and forced colours", async () => {
    const { phone, accessToken, long, paid, held } = await aPhoneWithCases(language);
    const { page, at, press, network } = phone;
    const look = (name: string) => expectEveryLook(phone, `${language}-${name}`);
    const open = (path: string) => page.evaluate(`void (location.hash = "#/${path}")`);

    await at(texts.signIn.title);
    await page.getByLabel(texts.signIn.phone).fill(PHONE_NUMBER);
    await look("sign-in");
    await press(texts.signIn.sendCode);
    await page.getByLabel(texts.signIn.code, { exact: true }).waitFor();
    await look("code");
    await press(texts.signIn.otherNumber);
    await press(texts.signIn.tokenInstead);
    await page.getByLabel(texts.signIn.token).fill(accessToken);
    await press(texts.signIn.useToken);

    await page.getByRole("link", { name: texts.today.open }).waitFor();
    await look("today");
    await open("cases");
    await page.locator(".row").first().waitFor();
    await look("cases");
    await page.getByLabel(texts.cases.filter).click();
    await page.getByRole("dialog").getByText("Pune (2)").waitFor();
    await look("filters");
    await page.keyboard.press("Escape");
    await page.getByRole("searchbox").fill("nobody");
    await page.getByText(texts.cases.notFound).waitFor();
    await look("no-case-found");

    await open(`case/${held.caseId}`);
    await page.getByText(texts.blocked.ON_HOLD).waitFor();
    await look("case-on-hold");
    await open(`case/${paid.caseId}`);
    await page.getByText(texts.case.earnedHere).waitFor();
    await look("case-reversed");
    await open(`case/${long.caseId}`);
    await page.getByText(texts.case.payWithoutLink).click();
    await look("case");

    await press(texts.case.startVisit);
    await at(texts.visit.title);
    await look("visit");
    lender.mintBehaviour = "error500";
    await press(texts.visit.getLink);
    await page.getByText(texts.link.status.UNAVAILABLE).waitFor();
    lender.mintBehaviour = "ok";
    await look("link-unavailable");
    await press(texts.link.askAgain);
    await page.getByLabel(texts.visit.alsoSend).check();
    await press(texts.visit.getLink);
    await page.getByText(texts.link.status.MINTED).waitFor();
    await look("link");
    await lender.pay([...lender.links.keys()].at(-1)!);
    await page.getByText(texts.case.earnedHere).waitFor();
    await look("link-paid");
    await press(texts.visit.end);
    await at(texts.outcome.title);
    await page.getByLabel(texts.outcome.as.PROMISE_TO_PAY).check();
    await look("outcome");
    await page.getByLabel(texts.outcome.as.PAID_VIA_LINK).check();
    await press(texts.outcome.save);
    await page.getByText(texts.today.earned).waitFor();

    await open("money");
    await page.locator(".case-link").first().waitFor();
    await look("money");
    await open("me");
    await page.getByText(texts.me.thisOne).waitFor();
    await look("me");

    await open(`case/${paid.caseId}`);
    await page.getByText(texts.case.startVisit).waitFor();
    await network(false);
    await press(texts.case.startVisit);
    await at(texts.visit.title);
    await page.getByText(texts.visit.startUnsent).waitFor();
    await look("visit-offline");
    await press(texts.visit.getLink);
    await page.getByText(texts.link.waitingWhy).waitFor();
    await look("link-waiting");
    await open("waiting");
    await page.getByRole("button", { name: texts.waiting.dismiss }).first().click();
    await page.getByText(texts.waiting.lossOfVisit).waitFor();
    await look("waiting");
    await network(true);
    await page.getByText(texts.waiting.allSent).waitFor();
    await look("all-sent");
    expect(phone.errors.filter((error) => !error.includes("ERR_INTERNET_DISCONNECTED"))).toEqual([]);
  });

  test("fits if there are no cases and no earnings", async () => {
    const { accessToken } = await aFieldPartner(service);
    const phone = await aPhone(browser, service.url);
    await signInWith(phone, accessToken, language);
    await phone.page.getByText(texts.today.nothing).waitFor();
    await expectEveryLook(phone, `${language}-today-empty`);
    await phone.page.evaluate('void (location.hash = "#/cases")');
    await phone.page.getByText(texts.cases.noneToVisit).waitFor();
    await expectEveryLook(phone, `${language}-cases-empty`);
    await phone.page.evaluate('void (location.hash = "#/money")');
    await phone.page.getByText(texts.money.nothing).waitFor();
    await expectEveryLook(phone, `${language}-money-empty`);
    expect(phone.errors).toEqual([]);
  });
});

async function signInWith({ page, press }: AppPhone, accessToken: string, language: LanguageTag): Promise<void> {
  const { texts } = LANGUAGES[language];
  await page.evaluate(`localStorage.setItem("collections.language", JSON.stringify("${language}"))`);
  await page.reload();
  await press(texts.signIn.tokenInstead);
  await page.getByLabel(texts.signIn.token).fill(accessToken);
  await press(texts.signIn.useToken);
}
