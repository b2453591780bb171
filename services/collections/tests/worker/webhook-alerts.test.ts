import { type CaughtMail, type LenderTwin, type MailCatcher, startMailCatcher } from "@collections/lender-twin";
import { lenderByCode } from "@collections/lenders";
import { afterFile, until } from "@collections/testing";
import { endpointOf } from "@collections/webhooks";
import { afterEach, beforeAll, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

const CONTACTS = ["ops@acme.example", "asha@acme.example"];

type Lender = Awaited<ReturnType<typeof aLender>>;

let mails: MailCatcher;
let service: TestService;
let settings: Record<string, string>;

// Two services run on one database, so that the tests notice it if both send the same mail.
beforeAll(async () => {
  mails = await startMailCatcher();
  afterFile(() => mails.close());
  settings = {
    SMTP_URL: mails.smtpUrl,
    WEBHOOK_LADDER: "0s,20ms,20ms",
    WEBHOOK_SUSPEND_AFTER: "12",
    WEBHOOK_PROBE_INTERVAL: "500ms",
  };
  service = await startTestService({ settings });
  settings = { ...settings, DATABASE_URL: service.databaseUrl };
  await startTestService({ settings });
});

afterEach(() => {
  mails.behaviour = "ok";
});

/** Creates a lender whose callback has this behaviour, and imports `loans` loans, which causes one event each. */
async function aLenderWith(loans: number, behaviour: LenderTwin["receiverBehaviour"]): Promise<Lender> {
  const lender = await aLender(service, { technicalContacts: CONTACTS, timeZone: "Asia/Kolkata" });
  lender.receiverBehaviour = behaviour;
  await lender.importCases(Array.from({ length: loans }, (_, index) => aRow(`LN/${index}`)));
  return lender;
}

async function endpoint({ code }: Lender) {
  const em = service.app.database.em();
  return (await endpointOf(em, (await lenderByCode(em, code))!.id))!;
}

/** Waits until each contact has a mail with these words in its subject, and returns all such mails of the lender. */
async function mailsTo({ code }: Lender, words: string): Promise<CaughtMail[]> {
  const isOne = ({ subject }: CaughtMail) => subject.startsWith(`[${code} sandbox] `) && subject.includes(words);
  for (const contact of CONTACTS) await mails.waitForMail((mail) => isOne(mail) && mail.to.includes(contact));
  return mails.mails.filter(isOne);
}

test("each contact of a lender gets one mail about suspended webhooks, with the cause, and one about the recovery", async () => {
  const lender = await aLenderWith(15, "status:503");
  const suspended = await mailsTo(lender, "Webhooks suspended");
  expect(new Set(suspended.flatMap(({ to }) => to))).toEqual(new Set(CONTACTS));
  expect(suspended[0]?.text).toMatch(/suspended: 1\d attempts in a row failed\. No event is lost\./);
  expect(suspended[0]?.text).toContain(`Callback:      ${lender.callbackUrl}\n`);
  expect(suspended[0]?.text).toContain("Last answer:   HTTP 503\n");
  expect(suspended[0]?.text).toMatch(/The service sends a signed ping to your callback at .* Asia\/Kolkata \(.* UTC\)/);
  expect(suspended[0]?.text).toContain("\n\n| The lender twin is configured to answer 503.\n");

  lender.receiverBehaviour = "ok";
  const recovered = await mailsTo(lender, "Webhooks recovered");
  expect(recovered[0]?.text).toMatch(/Recovered at: +20.* Asia\/Kolkata/);
  expect((await endpoint(lender)).state).toBe("active");
  expect(await mailsTo(lender, "Webhooks suspended")).toHaveLength(2);
  expect(await mailsTo(lender, "Webhooks recovered")).toHaveLength(2);
});

test("a lender gets a mail about a parked event, and an hour later a mail about events that were parked since", async () => {
  const lender = await aLenderWith(1, "error500");
  await mailsTo(lender, "A webhook is parked");
  await lender.importCases([aRow("LN/8"), aRow("LN/9")]);
  await until(async () => (await endpoint(lender)).parked === 3);
  const parked = await mailsTo(lender, "A webhook is parked");
  expect(parked).toHaveLength(2);
  const eventId = lender.deliveries[0]?.eventId;
  expect(parked[0]?.text).toContain("3 attempts to deliver it failed");
  expect(parked[0]?.text).toContain(`POST /api/v1/partner/webhooks/deliveries/${eventId}/replay`);

  await service.app.database.pool.query("update webhooks.alert set raised_at = now() - interval '1 hour'");
  // A worker sends the delayed alerts when it starts, and then every minute.
  await startTestService({ settings });
  const later = await mails.waitForMail(({ text }) => text.includes(`(${lender.code})`) && text.includes("(3 now)"));
  expect(later.messageId).not.toBe(parked[0]?.messageId);
  await until(async () => (await mailsTo(lender, "A webhook is parked")).length === 4);
});

test("a lender gets a mail when its callback answers 410, while the event is still being retried", async () => {
  const lender = await aLenderWith(1, "status:410");
  const gone = await mailsTo(lender, "410 Gone");
  await mailsTo(lender, "A webhook is parked");
  expect(gone).toHaveLength(2);
  expect(gone[0]?.text).toContain("Your server says that the callback is gone for good (410).");
  expect(await mailsTo(lender, "410 Gone")).toHaveLength(2);
});

test("a mail server that hangs does not delay webhooks", async () => {
  mails.behaviour = "hang";
  const lender = await aLenderWith(1, "status:410");
  await until(async () => (await endpoint(lender)).parked === 1);
  lender.receiverBehaviour = "ok";
  await lender.importCases([aRow("LN/9")]);
  const events = await lender.waitForEvents(({ length }) => length === 1);
  expect(events).toMatchObject([{ sourceLoanNumber: "LN/9" }]);
});
