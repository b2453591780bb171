import type { Browser } from "@collections/browser";
import { transaction } from "@collections/database";
import { issueAccessToken } from "@collections/field-partners";
import { beforeAll, describe, expect, test } from "vitest";
import { aBrowser, aPhone, type HeldPhone } from "./fixtures/field-app-stage.ts";
import { aFieldPartner, aLender, aRow, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

/** A real browser on a busy machine. */
const TIMEOUT_MS = 90_000;
const HOUR_MS = 60 * 60_000;
const WAITING = "1 to be sent";

let service: TestService;
let browser: Browser;
let lender: Awaited<ReturnType<typeof aLender>>;
let loans = 0;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService(), aBrowser()]);
  lender = await aLender(service);
}, TIMEOUT_MS);

/** A field partner with so many cases, signed in, who looks at the first one. */
async function atTheDoor({ cases = 1 } = {}) {
  const { id: fieldPartnerId, accessToken } = await aFieldPartner(service);
  const rows = Array.from({ length: cases }, () => aRow(`OUT-${(loans += 1)}`));
  await lender.importCases(rows);
  const loanNumbers = rows.map((row) => String(row["sourceLoanNumber"]));
  for (const loan of loanNumbers) await assign(service, lender.code, loan, fieldPartnerId);
  const phone = await aPhone(browser, service.url, accessToken);
  await phone.press("Open the case");
  await phone.at("Case");
  return { phone, app: new AppClient(service.url, accessToken), loanNumbers, accessToken, fieldPartnerId };
}

/** What the lender was told about visits to these loans. */
function visitEvents(loanNumbers: readonly string[]): string[] {
  return lender.events
    .filter(({ sourceLoanNumber, kind }) => loanNumbers.includes(sourceLoanNumber ?? "") && kind.startsWith("visit."))
    .map(({ kind }) => kind);
}

async function endVisit({ page, press, at }: HeldPhone): Promise<void> {
  await press("End the visit");
  await at("How did it end?");
  await page.getByLabel("Not at home").check();
  await press("Save and finish");
  await at("Good");
}

/** What the phone keeps under names that begin so, by name. */
function kept({ page }: Pick<HeldPhone, "page">, beginning: string): Promise<Record<string, string>> {
  return page.evaluate<Record<string, string>>(
    `Object.fromEntries(Object.entries(localStorage).filter(([name]) => name.startsWith("collections.${beginning}")))`,
  );
}

function isOf(request: { postData(): string | null }, operation: string): boolean {
  return request.postData()?.includes(`mutation ${operation}(`) ?? false;
}

describe("in which order deeds are sent", () => {
  test(
    "a phone whose clock goes back between the start and the end of a visit tells both, the start first",
    async () => {
      const { phone, loanNumbers } = await atTheDoor();
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
      await lender.waitForEvents(() => visitEvents(loanNumbers).includes("visit.completed"));
      await expect.poll(() => page.locator(".status-line").innerText()).toBe("");
      expect(sent).toEqual(["StartVisit", "CompleteVisit"]);
    },
    TIMEOUT_MS,
  );

  test(
    "an end that the service holds until its start arrives is not told as refused, and is done after the start",
    async () => {
      const { phone, loanNumbers } = await atTheDoor();
      const { page, press, at, network } = phone;
      await network(false);
      await press("Start the visit");
      await at("At the door");
      const start = await kept(phone, "outbox.");
      await endVisit(phone);
      for (const name of Object.keys(start)) await page.evaluate(`localStorage.removeItem("${name}")`);
      await network(true);
      await page.getByText(WAITING).click();
      await page.getByText("The service keeps it until the start of the visit arrives.").waitFor();
      for (const entry of Object.entries(start)) {
        await page.evaluate(`localStorage.setItem(...${JSON.stringify(entry)})`);
      }
      await press("Send now");
      await page.getByText("Everything is sent").waitFor();
      await lender.waitForEvents(() => visitEvents(loanNumbers).includes("visit.completed"));
      expect(visitEvents(loanNumbers)).toEqual(["visit.started", "visit.completed"]);
    },
    TIMEOUT_MS,
  );
});

test(
  "what always ends in a fault of the service stops the other visits for a few tries only, and can be given up",
  async () => {
    const { phone, app, loanNumbers } = await atTheDoor({ cases: 2 });
    const { page, press, at } = phone;
    const [here] = (await page.evaluate<string>("location.hash")).match(/[^/]+$/)!;
    const { data } = await app.ask("{ cases(first: 2) { edges { node { id } } } }");
    const ids: string[] = data!["cases"].edges.map(({ node }: { node: { id: string } }) => node.id);
    const other = ids.find((id) => id !== here)!;
    await page.route("**/graphql", async (route) => {
      const isBroken =
        isOf(route.request(), "StartVisit") && route.request().postData()!.includes(`"caseId":"${here}"`);
      if (!isBroken) return route.continue();
      const errors = [{ message: "Something went wrong.", extensions: { code: "INTERNAL" } }];
      await route.fulfill({ status: 500, json: { errors } });
    });
    await press("Start the visit");
    await at("At the door");
    await page.evaluate(`location.hash = "#/case/${other}"`);
    await at("Case");
    await press("Start the visit");
    await lender.waitForEvents(() => visitEvents(loanNumbers).includes("visit.started"));
    await page.getByText(WAITING).click();
    await at("To be sent");
    await page.getByText("Something went wrong.").waitFor();

    await press("Dismiss");
    await page.getByText("Not send it?").waitFor();
    await phone.look("dismiss");
    await press("Keep it");
    await page.getByText("Not send it?").waitFor({ state: "detached" });
    await press("Dismiss");
    await press("Do not send");
    await page.getByText("Everything is sent").waitFor();
    expect(Object.keys(await kept(phone, "visit."))).toEqual([expect.stringContaining(other)]);
  },
  TIMEOUT_MS,
);

describe("two people, one phone, two windows", () => {
  test(
    "what one has done never goes out with the token of the other, and stays for its owner",
    async () => {
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
      const deeds = Object.values(await kept(phone, "outbox.")).map((text) => JSON.parse(text) as { state: string });
      expect(deeds).toEqual([expect.objectContaining({ mutation: "startVisit", state: "waiting" })]);
      expect(await page.locator(".status-line").innerText()).toBe("");
      const session = JSON.parse((await kept(phone, "session"))["collections.session"]!) as { accessToken: string };
      expect(session.accessToken).toBe(anothersToken);
    },
    TIMEOUT_MS,
  );

  test(
    "who signs out while the session is being renewed stays signed out",
    async () => {
      const { phone, fieldPartnerId } = await atTheDoor();
      const { page } = phone;
      const next = await transaction(service.app.database.em(), (tx) => issueAccessToken(tx, fieldPartnerId));
      const asked = Promise.withResolvers<void>();
      const answered = Promise.withResolvers<void>();
      await page.route("**/graphql", async (route) => {
        if (!isOf(route.request(), "RefreshSession")) return route.continue();
        asked.resolve();
        await answered.promise;
        const tokens = { accessToken: next.accessToken, refreshToken: "fpr_next" };
        await route.fulfill({ json: { data: { result: { __typename: "RefreshSessionPayload", tokens } } } });
      });
      const refresh = { token: "fpr_last", key: crypto.randomUUID(), renewAtMs: 0 };
      await page.evaluate(`localStorage.setItem("collections.session", JSON.stringify({
        ...JSON.parse(localStorage.getItem("collections.session")), refresh: ${JSON.stringify(refresh)} }))`);
      await page.evaluate(`location.hash = "#/today"`);
      await asked.promise;
      // Another window of the app has signed out.
      await page.evaluate(`localStorage.removeItem("collections.session")`);
      answered.resolve();
      await phone.at("Sign in");
      expect(await kept(phone, "session")).toEqual({});
    },
    TIMEOUT_MS,
  );
});

/** The app in another window of the same browser, where whoever was signed in has just signed out. */
async function anotherWindow({ page }: HeldPhone) {
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
