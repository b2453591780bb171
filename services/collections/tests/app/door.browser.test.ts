import type { Browser } from "@collections/browser";
import { transaction } from "@collections/database";
import { issueAccessToken } from "@collections/field-partners";
import { beforeAll, describe, expect, test } from "vitest";
import { aBrowser } from "./fixtures/app-phone.ts";
import { aPhoneAtACase } from "./fixtures/phone-at-case.ts";
import { aFieldPartner, aLender, startTestService, type TestService } from "../fixtures/fixture.ts";

const WAITING = "1 to be sent";

let service: TestService;
let browser: Browser;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService(), aBrowser()]);
  lender = await aLender(service);
});

function atTheDoor() {
  return aPhoneAtACase({ service, browser, lender });
}

/** Returns the kinds of the events that the lender received about a loan. */
function events(loan: string): string[] {
  return lender.events.filter(({ sourceLoanNumber }) => sourceLoanNumber === loan).map(({ kind }) => kind);
}

describe("the app at a borrower's door", () => {
  test("shows the lender's own QR code with the amount when the lender cannot mint a link", async () => {
    const { phone } = await atTheDoor();
    const { page, press, at, look } = phone;
    lender.mintBehaviour = "error500";
    await press("Start the visit");
    await at("At the door");
    await page.getByLabel(/^How much/).fill("1250.50");
    await press("Get a payment link");
    await page.getByText("No link this time").waitFor();
    lender.mintBehaviour = "ok";
    await look("unavailable");
    expect(await phone.scan("QR code for any UPI app")).toMatch(/^upi:\/\/pay\?pa=acme@okbank&.*am=1250\.50&cu=INR/);
    await page.getByText("50100012345678").waitFor();
    expect(phone.errors).toEqual([]);
  });

  test("shows a rejection by the service beside the field that caused it", async () => {
    const { phone, loan } = await atTheDoor();
    const { page, press, at, look } = phone;
    await press("Start the visit");
    await at("At the door");
    await page.getByLabel(/^How much/).fill("two");
    await press("Get a payment link");
    await page.getByRole("alert").getByText("Type an amount, such as 2500.").waitFor();
    await page.getByLabel(/^How much/).fill("5000.01");
    await press("Get a payment link");
    await page.getByRole("alert").getByText("5,000.00").waitFor();
    await look("refused");
    expect(await page.getByText("could not be done").count()).toBe(0);
    await press("End the visit");
    await press("Save and finish");
    await page.getByRole("alert").getByText("Choose how it ended.").waitFor();
    expect(events(loan)).not.toContain("visit.completed");
  });

  test("polls for the link every few seconds when the subscription stream fails", async () => {
    const { phone } = await atTheDoor();
    const { page, press, at } = phone;
    await page.route("**/graphql", (route) =>
      route.request().headers()["accept"] === "text/event-stream" ? route.abort() : route.continue(),
    );
    await press("Start the visit");
    await at("At the door");
    await press("Get a payment link");
    await page.getByText("The connection is weak").waitFor();
    await page.getByText("Ready to show").waitFor();
    await lender.pay([...lender.links.keys()].at(-1)!);
    await expect.poll(() => page.getByText("You have earned here").count()).toBe(1);
  });
});

describe("the app without a network", () => {
  test("keeps the end of a visit on the phone, even after a reload, and sends it exactly once", async () => {
    const { phone, app, loan } = await atTheDoor();
    const { page, press, at, network, look } = phone;
    await press("Start the visit");
    await at("At the door");
    await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");
    await network(false);
    await press("End the visit");
    await at("How did it end?");
    await page.getByLabel("Promised to pay").check();
    await page.getByLabel(/^How much/).fill("1,000");
    await page.getByLabel("Note").fill("Kommt am Freitag; die Tür war offen.");
    await press("Save and finish");
    await at("Good");
    await page.getByText(WAITING).waitFor();
    await look("offline-today");
    await page.reload();
    await at("Good");
    await page.getByText(WAITING).click();
    await at("To be sent");
    await page.getByText("End of the visit: promised to pay").waitFor();
    await look("waiting");

    await network(true);
    await page.getByText("Everything is sent").waitFor();
    await page.reload();
    await at("To be sent");
    const { data } = await app.ask(`{ cases(first: 1) { edges { node { openPromise { amount { decimal } }
        visits(first: 5) { edges { node { disposition note completionCameLate } } } } } } }`);
    expect(data!["cases"].edges.map(({ node }: { node: object }) => node)).toEqual([
      {
        openPromise: { amount: { decimal: "1000.00" } },
        visits: { edges: [{ node: expect.objectContaining({ disposition: "PROMISE_TO_PAY" }) }] },
      },
    ]);
    await lender.waitForEvents(() => events(loan).includes("visit.completed"));
    expect(events(loan).filter((kind) => kind.startsWith("visit."))).toEqual(["visit.started", "visit.completed"]);
  });

  test("shows the lender's own QR code at a visit, and sends the visit's mutations in order once the network is back", async () => {
    const { phone, loan } = await atTheDoor();
    const { page, press, at, network, look } = phone;
    await network(false);
    await press("Start the visit");
    await at("At the door");
    await press("Get a payment link");
    await page.getByText("The link comes when there is a network.").waitFor();
    expect(await phone.scan("QR code for any UPI app")).toMatch(/^upi:\/\/pay\?pa=acme@okbank/);
    await look("link-waits");
    await network(true);
    await page.getByText("Ready to show").waitFor();
    await press("End the visit");
    await page.getByLabel("Not at home").check();
    await press("Save and finish");
    await at("Good");
    await lender.waitForEvents(() => events(loan).includes("visit.completed"));
    const kinds = events(loan).filter((kind) => !kind.startsWith("case.") && kind !== "payment_link.undelivered");
    expect(kinds).toEqual(["visit.started", "payment_link.created", "visit.completed"]);
  });

  test("keeps unsent mutations when the session ends, and sends them when the same person signs in again", async () => {
    const { phone, app, loan, fieldPartnerId } = await atTheDoor();
    const { page, press, at, network } = phone;
    await network(false);
    await press("Start the visit");
    await at("At the door");
    await app.mutate("signOut", {}, "signedOut");
    await network(true);
    await at("Sign in");
    // Another field partner on the same phone neither sees nor sends the visit.
    const other = await aFieldPartner(service);
    await phone.signIn(other.accessToken);
    await page.getByText("Nothing to do just now").waitFor();
    expect(await page.locator(".status-line").innerText()).toBe("");
    await press("Me");
    await press("Sign out");
    await at("Sign in");
    expect(events(loan)).not.toContain("visit.started");
    const { accessToken } = await transaction(service.app.database.em(), (tx) => issueAccessToken(tx, fieldPartnerId));
    await phone.signIn(accessToken);
    await lender.waitForEvents(() => events(loan).includes("visit.started"));
    await page.getByText("Continue the visit").waitFor();
  });

  test("shows, once the network is back, which of the stored mutations the service rejected", async () => {
    const { phone, loan } = await atTheDoor();
    const { page, press, at, network, look } = phone;
    await network(false);
    await press("Start the visit");
    await at("At the door");
    await press("Get a payment link");
    await at("Payment link");
    await lender.importCases([{ sourceLoanNumber: loan, action: "hold", reason: "Complaint" }]);
    await network(true);
    await page.getByText("1 could not be done").click();
    await at("To be sent");
    await page.getByText("Payment link ·").waitFor();
    await look("could-not-be-done");
    await press("Dismiss");
    await page.getByText("Everything is sent").waitFor();
    expect(await page.locator(".status-line").innerText()).toBe("");
  });
});
