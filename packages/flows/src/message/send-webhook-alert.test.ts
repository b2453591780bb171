import { newId } from "@collections/database";
import { type CaughtMail, startMailCatcher } from "@collections/lender-twin";
import { createMailer } from "@collections/messaging";
import { type AlertJob, alertQueue } from "@collections/webhooks";
import { afterAll, afterEach, expect, test } from "vitest";
import { aLender, flowsDatabase } from "../../tests/fixture.ts";
import { jobsWith } from "../../tests/link-stage.ts";
import { type AlertDeps, AlertNotAcceptedError, sendWebhookAlert } from "./send-webhook-alert.ts";

const database = await flowsDatabase();
const mails = await startMailCatcher();
const mailer = createMailer({ smtpUrl: mails.smtpUrl, from: "Collections <no-reply@example.com>" });
const logged: object[] = [];
const deps: AlertDeps = {
  database,
  mailer,
  environment: "sandbox",
  probeIntervalMs: 900_000,
  log: { info: () => {}, warn: (facts, message) => void logged.push({ ...facts, message }) },
};

afterEach(() => {
  mails.behaviour = "ok";
  mails.refused.clear();
  logged.splice(0);
});
afterAll(async () => {
  await mailer.close();
  await mails.close();
});

/** Returns the data of an alert job of a lender with these contacts. */
async function anAlert(...technicalContacts: string[]): Promise<AlertJob> {
  const { lender } = await aLender(database, { technicalContacts, name: "Acme Finance" });
  const now = new Date().toISOString();
  return {
    tenantId: lender.id,
    lenderId: lender.id,
    alertId: newId(),
    cause: "gone",
    raisedAt: now,
    happenedAt: now,
    facts: {
      since: now,
      url: "https://hooks.acme.example/collections",
      status: 410,
      body: "moved",
      errorCode: "NON_2XX",
    },
    heldBack: 0,
  };
}

async function send(data: AlertJob, changes: Partial<AlertDeps> = {}): Promise<void> {
  await sendWebhookAlert({ ...deps, ...changes }, { id: "job", data, attempt: 1 });
}

function mailsTo(contact: string): CaughtMail[] {
  return mails.mails.filter(({ to }) => to.includes(contact));
}

test("every technical contact gets the alert in a separate mail", async () => {
  await send(await anAlert("ops@acme.example", "asha@acme.example"));
  for (const contact of ["ops@acme.example", "asha@acme.example"]) {
    const [mail, ...others] = mailsTo(contact);
    expect(others).toEqual([]);
    expect(mail).toMatchObject({ to: [contact], html: "" });
    expect(mail?.subject).toMatch(/^\[L\d+ sandbox\] Your callback answered 410 Gone$/);
    expect(mail?.text).toContain("Callback:      https://hooks.acme.example/collections\n");
    expect(mail?.text).toContain("LAST ANSWER: HTTP 410, which began with\n\n| moved\n");
  }
});

test("a mail that is repeated after a crash has the same Message-ID", async () => {
  const alert = await anAlert("crash@acme.example");
  await send(alert);
  await send(alert);
  const [first, second, ...others] = mailsTo("crash@acme.example");
  expect(others).toEqual([]);
  expect(second).toEqual(first);
  await send({ ...alert, raisedAt: new Date().toISOString() });
  expect(mailsTo("crash@acme.example")[2]?.messageId).not.toBe(first?.messageId);
});

test("a lender without technical contacts is logged as a warning, and the job succeeds", async () => {
  const alert = await anAlert();
  await send(alert);
  expect(logged).toEqual([
    expect.objectContaining({
      lenderId: alert.tenantId,
      cause: "gone",
      message: expect.stringContaining("no technical contact"),
    }),
  ]);
});

test("a permanently rejected contact does not affect the others, and the log contains no address", async () => {
  mails.refused.set("left@acme.example", 550);
  const alert = await anAlert("left@acme.example", "stays@acme.example");
  await send(alert);
  expect(mailsTo("stays@acme.example")).toHaveLength(1);
  expect(logged).toMatchObject([{ contact: 1, code: "REFUSED" }]);
  expect(JSON.stringify(logged)).not.toContain("@");
  expect(await jobsWith(database, alertQueue, alert.tenantId)).toEqual([]);
});

test("a temporarily rejected contact gets the mail later, and the others get it once", async () => {
  mails.refused.set("grey@acme.example", 450);
  const alert = await anAlert("grey@acme.example", "white@acme.example");
  await send(alert);
  const [later] = await jobsWith(database, alertQueue, alert.tenantId);
  expect(later).toEqual({ ...alert, to: ["grey@acme.example"] });
  await expect(send(later!)).rejects.toThrow(AlertNotAcceptedError);
  mails.refused.clear();
  await send(later!);
  expect(mailsTo("white@acme.example")).toHaveLength(1);
  expect(mailsTo("grey@acme.example")).toMatchObject([{ messageId: mailsTo("white@acme.example")[0]!.messageId }]);
});

test("a contact that the lender has removed in the meantime gets no mail", async () => {
  const alert = await anAlert("now@acme.example");
  await send({ ...alert, to: ["before@acme.example"] });
  expect(mailsTo("before@acme.example")).toEqual([]);
  expect(logged).toHaveLength(1);
});

test("a mail server that hangs or is unavailable makes the job fail, so that it is retried", async () => {
  const alert = await anAlert("wait@acme.example");
  mails.behaviour = "hang";
  const impatient = createMailer({ smtpUrl: mails.smtpUrl, from: "no-reply@example.com", timeoutMs: 100 });
  await expect(send(alert, { mailer: impatient })).rejects.toMatchObject({ code: "TIMEOUT" });
  const nowhere = createMailer({ smtpUrl: "smtp://127.0.0.1:1", from: "no-reply@example.com" });
  await expect(send(alert, { mailer: nowhere })).rejects.toMatchObject({ code: "UNREACHABLE" });
  mails.behaviour = "ok";
  await send(alert);
  expect(mailsTo("wait@acme.example")).toHaveLength(1);
});

test("a mail server that rejects the mail permanently or is not configured ends the job with a warning", async () => {
  const alert = await anAlert("never@acme.example");
  mails.behaviour = "reject";
  await send(alert);
  await send(alert, { mailer: createMailer({ smtpUrl: undefined, from: "no-reply@example.com" }) });
  expect(logged).toMatchObject([{ code: "REFUSED" }, { code: "NOT_CONFIGURED" }]);
});
