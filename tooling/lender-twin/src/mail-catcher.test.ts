import { createTransport } from "nodemailer";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startMailCatcher, type MailCatcher } from "./mail-catcher.ts";

const MAIL = {
  from: "Collections <collections@example.com>",
  to: ["Asha Rao <asha@example.com>", "desk@example.com"],
  subject: "Ihr Zahlungslink – ₹ 1.250,50",
  text: "Bitte zahlen: https://pay.example/1?a=b=c",
  html: '<p>Bitte <a href="https://pay.example/1?a=b=c">zahlen</a></p>',
};

let catcher: MailCatcher;

beforeEach(async () => {
  catcher = await startMailCatcher();
});

afterEach(() => catcher.close());

test("a mail is shown decoded, with the Message-ID that its sender knows it by", async () => {
  const { messageId } = await createTransport(catcher.smtpUrl).sendMail(MAIL);
  expect(catcher.mails).toEqual([
    {
      from: "collections@example.com",
      to: ["asha@example.com", "desk@example.com"],
      subject: MAIL.subject,
      text: `${MAIL.text}\n`,
      html: `${MAIL.html}\n`,
      messageId,
    },
  ]);
});

test("a mail can be waited for, whether it came already or not", async () => {
  const waiting = catcher.waitForMail(({ to }) => to.includes("desk@example.com"));
  await createTransport(catcher.smtpUrl).sendMail(MAIL);
  expect(await waiting).toMatchObject({ subject: MAIL.subject });
  expect(await catcher.waitForMail(({ subject }) => subject === MAIL.subject)).toBe(await waiting);
});

test("who waits in vain is told which mails came", async () => {
  await createTransport(catcher.smtpUrl).sendMail({ ...MAIL, subject: "Welcome" });
  await expect(catcher.waitForMail(({ subject }) => subject === "Bye", 20)).rejects.toThrow('"Welcome" to asha@');
});

test("told to reject it refuses every recipient for good", async () => {
  catcher.behaviour = "reject";
  await expect(createTransport(catcher.smtpUrl).sendMail(MAIL)).rejects.toMatchObject({ responseCode: 550 });
  expect(catcher.mails).toHaveLength(0);
});

test("told of single recipients it refuses those, and the others get the mail", async () => {
  catcher.refused.set("asha@example.com", 450);
  const { rejected } = await createTransport(catcher.smtpUrl).sendMail(MAIL);
  expect(rejected).toEqual(["asha@example.com"]);
  expect(catcher.mails.map(({ subject }) => subject)).toEqual([MAIL.subject]);
});

test("told to hang it never says that it has the mail", async () => {
  catcher.behaviour = "hang";
  const transport = createTransport({ url: catcher.smtpUrl, socketTimeout: 100 });
  await expect(transport.sendMail(MAIL)).rejects.toThrow("Timeout");
  expect(catcher.mails).toHaveLength(0);
});

test("two catchers cannot have the same port", async () => {
  await expect(startMailCatcher({ port: Number(new URL(catcher.smtpUrl).port) })).rejects.toThrow("EADDRINUSE");
});
