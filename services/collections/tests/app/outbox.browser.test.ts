import type { Browser } from "@collections/browser";
import { transaction } from "@collections/database";
import { issueAccessToken } from "@collections/field-partners";
import { beforeAll, describe, expect, test } from "vitest";
import { aBrowser, type AppPhone } from "./fixtures/app-phone.ts";
import { aPhoneAtACase } from "./fixtures/phone-at-case.ts";
import { aFieldPartner, aLender, startTestService, type TestService } from "../fixtures/fixture.ts";

const HOUR_MS = 60 * 60_000;
const WAITING = "1 to be sent";

let service: TestService;
let browser: Browser;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService(), aBrowser()]);
  lender = await aLender(service);
});

function atTheDoor({ cases = 1 } = {}) {
  return aPhoneAtACase({ service, browser, lender }, { cases });
}

/** Returns the kinds of the events that the lender received about visits to these loans. */
function visitEvents(loans: readonly string[]): string[] {
  return lender.events
    .filter(({ sourceLoanNumber, kind }) => loans.includes(sourceLoanNumber ?? "") && kind.startsWith("visit."))
    .map(({ kind }) => kind);
}

async function endVisit({ page, press, at }: AppPhone): Promise<void> {
  await press("End the visit");
  await at("How did it end?");
  await page.getByLabel("Not at home").check();
  await press("Save and finish");
  await at("Good");
}

/**
 * Returns the entries of the phone's local storage whose keys begin with `collections.` followed by the value of
 * `beginning`.
 */
function stored({ page }: Pick<AppPhone, "page">, beginning: string): Promise<Record<string, string>> {
  return page.evaluate<Record<string, string>>(
    `Object.fromEntries(Object.entries(localStorage).filter(([name]) => name.startsWith("collections.${beginning}")))`,
  );
}

function isOf(request: { postData(): string | null }, operation: string): boolean {
  return request.postData()?.includes(`mutation ${operation}(`) ?? false;
}

describe("order in which the app sends mutations", () => {
  test("the start of a visit is sent before its end, even if the phone's clock was set back between them", async () => {
    const { phone, loans } = await atTheDoor();
    const { page, press, at, network } = phone;
    const sent: string[] = [];
    page.on("request", (request) => {
      for (const operation of ["StartVisit", "CompleteVisit"]) if (isOf(request, operation)) sent.push(operation);
    });
    await network(false);
    await press("Start the visit");
    await at("At the door");
    await page.clock.setFixedTime(Date.now() - HOUR_MS);
    await endVisit(phone);
    sent.length = 0;
    await network(true);
    await lender.waitForEvents(() => visitEvents(loans).includes("visit.completed"));
    await expect.poll(() => page.locator(".status-line").innerText()).toBe("");
    expect(sent).toEqual(["StartVisit", "CompleteVisit"]);
  });

  test("a visit's end that arrives before its start is not shown as rejected, and is processed when the start arrives", async () => {
    const { phone, loans } = await atTheDoor();
    const { page, press, at, network } = phone;
    await network(false);
    await press("Start the visit");
    await at("At the door");
    const start = await stored(phone, "outbox.");
    await endVisit(phone);
    for (const name of Object.keys(start)) await page.evaluate(`localStorage.removeItem("${name}")`);
    await network(true);
    await page.getByText(WAITING).click();
    await page.getByText("The service keeps this action until the start of the visit arrives.").waitFor();
    for (const entry of Object.entries(start)) {
      await page.evaluate(`localStorage.setItem(...${JSON.stringify(entry)})`);
    }
    await press("Send now");
    await page.getByText("Everything is sent").waitFor();
    await lender.waitForEvents(() => visitEvents(loans).includes("visit.completed"));
    expect(visitEvents(loans)).toEqual(["visit.started", "visit.completed"]);
  });
});

test("after a few failures with INTERNAL, a mutation no longer delays mutations of other visits, and can be dismissed", async () => {
  const { phone, app, loans } = await atTheDoor({ cases: 2 });
  const { page, press, at } = phone;
  const [here] = (await page.evaluate<string>("location.hash")).match(/[^/]+$/)!;
  const { data } = await app.ask("{ cases(first: 2) { edges { node { id } } } }");
  const ids: string[] = data!["cases"].edges.map(({ node }: { node: { id: string } }) => node.id);
  const other = ids.find((id) => id !== here)!;
  await page.route("**/graphql", async (route) => {
    const isBroken = isOf(route.request(), "StartVisit") && route.request().postData()!.includes(`"caseId":"${here}"`);
    if (!isBroken) return route.continue();
    const errors = [{ message: "The service has a fault. Try again in a moment.", extensions: { code: "INTERNAL" } }];
    await route.fulfill({ status: 500, json: { errors } });
  });
  await press("Start the visit");
  await at("At the door");
  await page.evaluate(`location.hash = "#/case/${other}"`);
  await at("Case");
  await press("Start the visit");
  await lender.waitForEvents(() => visitEvents(loans).includes("visit.started"));
  await page.getByText(WAITING).click();
  await at("To be sent");
  await page.getByText("The service has a fault. Try again in a moment.").waitFor();

  await press("Dismiss");
  await page.getByText("Discard it without sending?").waitFor();
  await phone.look("dismiss");
  await press("Keep it");
  await page.getByText("Discard it without sending?").waitFor({ state: "detached" });
  await press("Dismiss");
  await press("Do not send");
  await page.getByText("Everything is sent").waitFor();
  expect(Object.keys(await stored(phone, "visit."))).toEqual([expect.stringContaining(other)]);
});

describe("two people on one phone in two windows", () => {
  test("a person's mutations stay stored until this person signs in again, and are never sent with another person's token", async () => {
    const { phone, app, accessToken } = await atTheDoor();
    const { page, press } = phone;
    const tokens = new Set<string | undefined>();
    const answered = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      if (!isOf(route.request(), "StartVisit")) return route.continue();
      tokens.add(route.request().headers()["authorization"]);
      const response = await route.fetch();
      await answered.promise;
      await route.fulfill({ response });
    });
    // The app must not notice the end of the session before the start of the visit.
    await phone.dayStored();
    await app.mutate("signOut", {}, "signedOut");
    await press("Start the visit");
    await expect.poll(() => [...tokens]).toEqual([`Bearer ${accessToken}`]);

    const { accessToken: anothersToken } = await aFieldPartner(service);
    const { phone: window } = await anotherWindow(phone);
    await window.signIn(anothersToken);
    answered.resolve();
    await phone.at("Good");
    await page.getByText("Nothing to do just now").waitFor();

    expect([...tokens]).toEqual([`Bearer ${accessToken}`]);
    const mutations = Object.values(await stored(phone, "outbox.")).map(
      (text) => JSON.parse(text) as { state: string },
    );
    expect(mutations).toEqual([expect.objectContaining({ mutation: "startVisit", state: "waiting" })]);
    expect(await page.locator(".status-line").innerText()).toBe("");
    const session = JSON.parse((await stored(phone, "session"))["collections.session"]!) as { accessToken: string };
    expect(session.accessToken).toBe(anothersToken);
  });

  test("a sign-out in one window is not undone by a refresh of the session that was running in the other", async () => {
    const { phone, fieldPartnerId } = await atTheDoor();
    const { page } = phone;
    const next = await transaction(service.app.database.em(), (tx) => issueAccessToken(tx, fieldPartnerId));
    const requested = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    await page.route("**/graphql", async (route) => {
      if (!isOf(route.request(), "RefreshSession")) return route.continue();
      requested.resolve();
      await answered.promise;
      const tokens = { accessToken: next.accessToken, refreshToken: "fpr_next" };
      await route.fulfill({ json: { data: { result: { __typename: "RefreshSessionPayload", tokens } } } });
    });
    const refresh = { token: "fpr_last", key: crypto.randomUUID(), renewAtMs: 0 };
    await page.evaluate(`localStorage.setItem("collections.session", JSON.stringify({
        ...JSON.parse(localStorage.getItem("collections.session")), refresh: ${JSON.stringify(refresh)} }))`);
    await page.evaluate(`location.hash = "#/today"`);
    await requested.promise;
    // Another window of the app has signed out.
    await page.evaluate(`localStorage.removeItem("collections.session")`);
    answered.resolve();
    await phone.at("Sign in");
    expect(await stored(phone, "session")).toEqual({});
  });
});

/** Opens the app in another window of the same browser and signs the current person out. */
async function anotherWindow({ page }: AppPhone) {
  const opened = await page.context().newPage();
  await opened.goto(page.url().replace(/#.*/, ""));
  await opened.evaluate(`localStorage.removeItem("collections.session"); location.reload()`);
  const phone = {
    async signIn(accessToken: string) {
      await opened.getByText("Use an access token instead").click();
      await opened.getByLabel("Access token").fill(accessToken);
      await opened.getByRole("button", { name: "Use this token" }).click();
      await opened.getByRole("heading", { level: 1, name: /^Good / }).waitFor();
    },
  };
  return { phone };
}
