import { randomUUID } from "node:crypto";
import type { Browser } from "@collections/browser";
import { beforeAll, expect, test } from "vitest";
import { aBrowser, aPhone } from "./fixtures/app-phone.ts";
import { anAssignedCase } from "../fixtures/assigned-case.ts";
import { aFieldPartner, aLender, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";

const CASES = 40;
const AMOUNT_MINOR = "120050";
const NOTE = "Kommt am Freitag; die Tür war offen.";
/** The day of a promise: one week after today, in the time zone of the browser. */
const DUE_ON = new Date(Date.now() + 7 * 24 * 3_600_000).toISOString().slice(0, 10);

let service: TestService;
let browser: Browser;
let lender: Awaited<ReturnType<typeof aLender>>;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService(), aBrowser()]);
  lender = await aLender(service);
});

/** The field partner's work at the door of a case. */
type Work = "not at home" | "promise" | "link" | "dispute" | "no visit";

const WORKS: readonly Work[] = ["not at home", "promise", "link", "dispute", "no visit"];

function workOf(index: number): Work {
  return WORKS[index % WORKS.length]!;
}

interface DayOfCases {
  readonly app: AppClient;
  readonly accessToken: string;
  readonly caseIds: readonly string[];
  readonly loans: readonly string[];
}

/** Creates a field partner with forty cases. The cases of two field partners differ only in their loan numbers. */
async function aDay(): Promise<DayOfCases> {
  const { id, accessToken } = await aFieldPartner(service);
  const [caseIds, loans]: [string[], string[]] = [[], []];
  for (let index = 0; index < CASES; index += 1) {
    const city = index % 2 === 0 ? "Pune" : "Nashik";
    const made = await anAssignedCase(service, lender, id, {
      borrowerName: `${["Meera", "Ravi", "Sunita"][index % 3]} Kumar ${index}`,
      outstandingAmount: 5_000 + (index % 7) * 100,
      ...(index % 4 > 0 && { dpd: index % 11 }),
      addresses: [{ line1: `${index}, Tilak Road`, city, country: "IN" }],
    });
    caseIds.push(made.caseId);
    loans.push(made.loan);
  }
  return { app: new AppClient(service.url, accessToken), accessToken, caseIds, loans };
}

const money = { minor: AMOUNT_MINOR, currency: "INR" };

/** Does the day's work over the API, one request after the other. */
async function workOnline({ app, caseIds }: DayOfCases): Promise<void> {
  for (const [index, caseId] of caseIds.entries()) {
    const work = workOf(index);
    if (work === "no visit") continue;
    const visitId = randomUUID();
    const occurredAt = new Date();
    await app.mutate("startVisit", { visitId, caseId, occurredAt }, "visit { visitId }");
    if (work === "link") await app.mutate("requestPaymentLink", { visitId, amount: money }, "paymentLink { id }");
    const end = {
      "not at home": { disposition: "NOT_AT_HOME" },
      promise: { disposition: "PROMISE_TO_PAY", promise: { amount: money, dueOn: DUE_ON } },
      link: { disposition: "CALLBACK_REQUESTED" },
      dispute: { disposition: "DISPUTE", note: NOTE },
    }[work];
    await app.mutate("completeVisit", { visitId, occurredAt, ...end }, "visit { visitId }");
  }
}

const DAY_OF_CASES = `query ($filter: CaseFilter, $sort: CaseSort, $search: String, $after: String) {
  cases(filter: $filter, sort: $sort, search: $search, first: 25, after: $after) {
    edges { node {
      id borrower { displayName } status workable blockedReasonCode outstanding { decimal }
      openPromise { amount { decimal } dueOn } activeLink { status amount { decimal } }
      visits(first: 3) { edges { node { disposition note isMine completedAt } } }
    } }
    pageInfo { hasNextPage endCursor }
  }
}`;

interface ListedCase {
  readonly id: string;
  readonly borrower: { readonly displayName: string };
  readonly visits: { readonly edges: readonly { readonly node: { readonly completedAt: string | null } }[] };
}

async function listed(app: AppClient, variables: object = {}): Promise<ListedCase[]> {
  const found: ListedCase[] = [];
  for (let after: string | null = null, hasNextPage = true; hasNextPage;) {
    const { data, errors } = await app.ask(DAY_OF_CASES, { ...variables, after });
    expect(errors).toBeUndefined();
    const { edges, pageInfo } = data!["cases"];
    found.push(...edges.map(({ node }: { node: ListedCase }) => node));
    ({ hasNextPage, endCursor: after } = pageInfo);
  }
  return found;
}

/** Returns all facts of the cases that two equal days must share, in the order of the borrowers' names. */
async function factsOf(app: AppClient): Promise<object[]> {
  const cases = await listed(app);
  return cases
    .map(({ visits, ...facts }) => ({
      ...facts,
      id: "",
      visits: visits.edges.map(({ node: { completedAt, ...visit } }) => ({ ...visit, isEnded: completedAt !== null })),
    }))
    .toSorted((one, other) => (one.borrower.displayName < other.borrower.displayName ? -1 : 1));
}

/** Whether the lender has not yet answered a request for a link. */
async function hasOpenRequest(app: AppClient): Promise<boolean> {
  return JSON.stringify(await factsOf(app)).includes('"status":"REQUESTED"');
}

test("a day of forty cases without a network, sent in the evening, equals the same day with a network", async () => {
  const [online, offline] = [await aDay(), await aDay()];
  const phone = await aPhone(browser, service.url, offline.accessToken);
  const { page, press, at, network } = phone;
  const open = (path: string) => page.evaluate(`void (location.hash = "#/${path}")`);
  await page.getByText(`Your ${CASES} cases are on this phone.`).waitFor();
  await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)");

  await network(false);
  await page.reload();
  await at("Good");
  // The lists on the phone are those of the service.
  await open("cases");
  const names = () => page.locator(".row .name").allTextContents();
  const expected = async (variables: object) =>
    (await listed(offline.app, variables)).map(({ borrower }) => borrower.displayName);
  await expect.poll(names).toEqual(await expected({ filter: { workable: true } }));
  await page.getByRole("searchbox").fill("meera 1");
  await expect.poll(names).toEqual(await expected({ filter: { workable: true }, search: "meera 1" }));
  await page.getByRole("searchbox").fill("");
  for (const [label, sort] of [
    ["Longest past due", "DAYS_PAST_DUE"],
    ["Highest amount", "AMOUNT"],
  ] as const) {
    await page.getByRole("button", { name: /^Sort and filter/ }).click();
    await page.getByLabel(label).check();
    await press("Show cases");
    await expect.poll(names).toEqual(await expected({ filter: { workable: true }, sort }));
  }

  const scanned: string[] = [];
  for (const [index, caseId] of offline.caseIds.entries()) {
    const work = workOf(index);
    if (work === "no visit") continue;
    await open(`case/${caseId}`);
    await press("Start the visit");
    await at("At the door");
    if (work === "link") {
      await page.getByLabel(/^How much/).fill("1200.50");
      await press("Get a payment link");
      await page.getByText("Waiting to be sent").waitFor();
      scanned.push(await phone.scan("QR code for any UPI app"));
    }
    await open(`case/${caseId}/end`);
    await at("How did it end?");
    const outcome = {
      "not at home": "Not at home",
      promise: "Promised to pay",
      link: "Wants a call",
      dispute: "Says the debt",
    };
    await page.getByLabel(outcome[work]).check();
    if (work === "promise") {
      await page.getByLabel(/^How much/).fill("1200.50");
      await page.getByLabel("By when").fill(DUE_ON);
    }
    if (work === "dispute") await page.getByLabel(/^Note/).fill(NOTE);
    await press("Save and finish");
    await at("Good");
  }
  // Each code asks for the amount that the borrower wants to pay.
  expect(scanned).toHaveLength(CASES / WORKS.length);
  expect(scanned.filter((uri) => !/^upi:\/\/pay\?(?=.*&am=1200\.50)(?=.*&cu=INR)/.test(uri))).toEqual([]);
  expect(await listed(offline.app, { filter: { status: ["IN_PROGRESS", "ON_HOLD"] } })).toEqual([]);

  await network(true);
  await workOnline(online);
  await expect.poll(() => page.locator(".status-line").innerText()).toBe("");
  await expect
    .poll(async () => (await listed(offline.app)).filter(({ visits }) => visits.edges.length > 0).length)
    .toBe((CASES / WORKS.length) * 4);
  // A link is minted after its request was answered.
  for (const { app } of [online, offline]) await expect.poll(() => hasOpenRequest(app)).toBe(false);
  expect(await factsOf(offline.app)).toEqual(await factsOf(online.app));

  // The sync of the evening has brought the new statuses to the phone.
  await open("cases");
  await network(false);
  await page.getByText("Not now").click();
  await expect.poll(names).toHaveLength(CASES / WORKS.length);
  expect(phone.errors.filter((error) => !error.includes("ERR_INTERNET_DISCONNECTED"))).toEqual([]);
});
