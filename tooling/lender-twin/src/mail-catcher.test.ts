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

test("the mail catcher records the decoded texts and the Message-ID of a mail", async () => {
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

test("onMail is called with each accepted mail", async () => {
  const subjects: string[] = [];
  const listening = await startMailCatcher({ onMail: ({ subject }) => subjects.push(subject) });
  await createTransport(listening.smtpUrl).sendMail(MAIL);
  await listening.close();
  expect(subjects).toEqual([MAIL.subject]);
});

test("waitForMail resolves for a mail that arrives before or after the call", async () => {
  const waiting = catcher.waitForMail(({ to }) => to.includes("desk@example.com"));
  await createTransport(catcher.smtpUrl).sendMail(MAIL);
  expect(await waiting).toMatchObject({ subject: MAIL.subject });
  expect(await catcher.waitForMail(({ subject }) => subject === MAIL.subject)).toBe(await waiting);
});

test("waitForMail fails with the received mails in its message", async () => {
  await createTransport(catcher.smtpUrl).sendMail({ ...MAIL, subject: "Welcome" });
  await expect(catcher.waitForMail(({ subject }) => subject === "Bye", 20)).rejects.toThrow('"Welcome" to asha@');
});

test("with behaviour reject the server rejects every recipient permanently", async () => {
  catcher.behaviour = "reject";
  await expect(createTransport(catcher.smtpUrl).sendMail(MAIL)).rejects.toMatchObject({ responseCode: 550 });
  expect(catcher.mails).toHaveLength(0);
});

test("the mail catcher rejects the recipients in `refused`, and accepts the mail for the others", async () => {
  catcher.refused.set("asha@example.com", 450);
  const { rejected } = await createTransport(catcher.smtpUrl).sendMail(MAIL);
  expect(rejected).toEqual(["asha@example.com"]);
  expect(catcher.mails.map(({ subject }) => subject)).toEqual([MAIL.subject]);
});

test("with behaviour hang the server never acknowledges the mail", async () => {
  catcher.behaviour = "hang";
  const transport = createTransport({ url: catcher.smtpUrl, socketTimeout: 100 });
  await expect(transport.sendMail(MAIL)).rejects.toThrow("Timeout");
  expect(catcher.mails).toHaveLength(0);
});

test("startMailCatcher rejects if its port is in use", async () => {
  await expect(startMailCatcher({ port: Number(new URL(catcher.smtpUrl).port) })).rejects.toThrow("EADDRINUSE");
});
