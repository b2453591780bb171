import type { Browser } from "@collections/browser";
import { beforeAll, expect, test } from "vitest";
import { aBrowser, type AppPhone } from "./fixtures/app-phone.ts";
import { aPhoneAtACase } from "./fixtures/phone-at-case.ts";
import { aLender, startTestService, type TestService } from "../fixtures/fixture.ts";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
const VISITS = `{ cases(first: 1) { edges { node { visits(first: 5) { edges { node {
  startedAt completedAt startReceivedAt completionReceivedAt startClockWrong completionClockWrong disposition
} } } activeLink { status } } } } }`;

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

async function visitTo({ page, press, at }: AppPhone): Promise<void> {
  await press("Start the visit");
  await at("At the door");
  await press("End the visit");
  await at("How did it end?");
  await page.getByLabel("Not at home").check();
  await press("Save and finish");
  await at("Good");
}

test.each([
  ["30 days ahead", () => Date.now() + 30 * DAY_MS],
  ["reset to 1970", () => 10 * 60_000],
])("a visit made offline by a clock that is %s arrives marked, with its time of arrival", async (_, wrongTime) => {
  const { phone, app } = await atTheDoor();
  await phone.dayStored();
  await phone.network(false);
  await phone.page.clock.setFixedTime(wrongTime());
  await visitTo(phone);
  await phone.network(true);
  const visits = async () => {
    const { data } = await app.ask(VISITS);
    return data!["cases"].edges[0].node.visits.edges.map(({ node }: { node: object }) => node);
  };
  await expect.poll(visits).toMatchObject([{ disposition: "NOT_AT_HOME" }]);
  const [visit] = await visits();
  expect(visit).toMatchObject({
    startClockWrong: true,
    completionClockWrong: true,
    startedAt: visit.startReceivedAt,
    completedAt: visit.completionReceivedAt,
  });
});

test("a phone whose clock is 30 days ahead sends the service's time once it has had an answer", async () => {
  const { phone, app } = await atTheDoor();
  await phone.page.clock.setFixedTime(Date.now() + 30 * DAY_MS);
  await phone.page.reload();
  await phone.at("Case");
  await phone.dayStored();
  const before = Date.now();
  await visitTo(phone);
  const started = async () => {
    const { data } = await app.ask(VISITS);
    return data!["cases"].edges[0].node.visits.edges[0]?.node;
  };
  await expect.poll(started).toMatchObject({ disposition: "NOT_AT_HOME", startClockWrong: false });
  const { startedAt } = await started();
  expect(Math.abs(Date.parse(startedAt) - before)).toBeLessThan(DAY_MS);
});

test("a link that was requested offline three hours ago is refused in plain words", async () => {
  const { phone } = await atTheDoor();
  const { page, press, at, network } = phone;
  await press("Start the visit");
  await at("At the door");
  await network(false);
  await page.clock.setFixedTime(Date.now() - 3 * HOUR_MS);
  await press("Get a payment link");
  await page.getByText("1 to be sent").waitFor();
  const minted = lender.mints.length;
  await network(true);
  await page.getByText("The request is too old. Ask for a new link if you are still with the borrower.").waitFor();
  expect(lender.mints).toHaveLength(minted);
});
