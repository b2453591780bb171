import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { expect, test } from "vitest";
import { MailNotSentError } from "./mail-not-sent.ts";
import { createMailer, InvalidMailerOptionsError, type Mail } from "./mailer.ts";

const FROM = "Partner Collections <no-reply@collections.example>";
const MAIL: Mail = { to: "asha@lender.example", subject: "Delivery suspended", text: "20 attempts failed." };

test("the mail server receives the sender, recipient, subject, text and HTML of a mail", async () => {
  await using server = await openSmtpServer();
  const mailer = createMailer({ smtpUrl: server.url, from: FROM });
  const sent = await mailer.send({ ...MAIL, subject: "ज़मानत ₹2,500", text: "नमस्ते\n.\nend", html: "<p>नमस्ते</p>" });
  const [received] = server.received;
  expect(received?.envelope).toEqual({ from: "no-reply@collections.example", to: ["asha@lender.example"] });
  expect(received?.mail).toMatchObject({
    from: { name: "Partner Collections", address: "no-reply@collections.example" },
    to: [{ address: "asha@lender.example" }],
    subject: "ज़मानत ₹2,500",
    html: expect.stringContaining("<p>नमस्ते</p>"),
    messageId: sent.messageId,
  });
  expect(received?.mail.text?.trim()).toBe("नमस्ते\n.\nend");
  expect(received?.mail.headers).toContainEqual(expect.objectContaining({ key: "auto-submitted" }));
});

test("the same key gives the same Message-ID, and different keys give different ones", async () => {
  await using server = await openSmtpServer();
  const mailer = createMailer({ smtpUrl: server.url, from: FROM });
  for (const messageId of ["alert:ACME/1", "alert:ACME/1", "alert%3aACME/1", "क"])
    await mailer.send({ ...MAIL, messageId });
  const ids = server.received.map(({ mail }) => mail.messageId);
  expect(ids[0]).toBe("<alert%3aACME%2f1@collections.example>");
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
  expect(ids[3]).toBe("<%e0%a4%95@collections.example>");
});

test("a line break in a subject cannot add a header", async () => {
  await using server = await openSmtpServer();
  const mailer = createMailer({ smtpUrl: server.url, from: FROM });
  await mailer.send({ ...MAIL, subject: "Hello\r\nBcc: eve@evil.example\r\n\r\n<b>" });
  const [received] = server.received;
  expect(received?.envelope.to).toEqual(["asha@lender.example"]);
  expect(received?.mail.bcc).toBeUndefined();
  expect(received?.mail.subject).toBe("Hello Bcc: eve@evil.example <b>");
  expect(received?.mail.text?.trim()).toBe(MAIL.text);
});

test.each([
  "asha@lender.example, eve@evil.example",
  "asha@lender.example\r\nRCPT TO:<eve@evil.example>",
  "Asha <asha@lender.example>",
  "<asha@lender.example>",
  "asha",
  "",
  `${"a".repeat(250)}@lender.example`,
])("the mailer rejects %j as a recipient, and sends nothing", async (to) => {
  await using server = await openSmtpServer();
  const error = await failureOf(createMailer({ smtpUrl: server.url, from: FROM }).send({ ...MAIL, to }));
  expect(error).toMatchObject({ code: "REFUSED", retryable: false });
  expect(server.received).toEqual([]);
});

test("send returns the recipients that the server rejected, if the server accepts the mail for others", async () => {
  await using server = await openSmtpServer({ refuse: { "gone@lender.example": 550 } });
  const mailer = createMailer({ smtpUrl: server.url, from: FROM });
  const sent = await mailer.send({ ...MAIL, to: ["asha@lender.example", "gone@lender.example"] });
  expect(sent.refused).toEqual(["gone@lender.example"]);
  expect(server.received[0]?.envelope.to).toEqual(["asha@lender.example"]);
});

test.each([
  [550, false],
  [451, true],
])("a rejection with status %i is retryable: %s, and its error contains no address", async (status, retryable) => {
  await using server = await openSmtpServer({ refuse: { "asha@lender.example": status } });
  const error = await failureOf(createMailer({ smtpUrl: server.url, from: FROM }).send(MAIL));
  expect(error).toMatchObject({ code: "REFUSED", retryable });
  expect(error.detail).toContain(String(status));
  expect(`${error.detail}${error.message}`).not.toContain("asha");
});

test("the mailer uses the user name and password of the URL, and does not show them in an error", async () => {
  await using server = await openSmtpServer({ login: { user: "us@er", pass: "p:w/d" } });
  const right = createMailer({ smtpUrl: server.url.replace("//", "//us%40er:p%3Aw%2Fd@"), from: FROM });
  expect(await right.send(MAIL)).toMatchObject({ refused: [] });
  const wrong = createMailer({ smtpUrl: server.url.replace("//", "//us%40er:s3cret@"), from: FROM });
  const error = await failureOf(wrong.send(MAIL));
  expect(error).toMatchObject({ code: "REFUSED", retryable: false, detail: expect.stringContaining("535") });
  expect(`${error.detail}${error.stack}`).not.toContain("s3cret");
});

test("send fails with NOT_CONFIGURED without an SMTP URL", async () => {
  const error = await failureOf(createMailer({ smtpUrl: undefined, from: FROM }).send(MAIL));
  expect(error).toMatchObject({ code: "NOT_CONFIGURED", retryable: false });
});

test("send fails with UNREACHABLE if no mail server is running", async () => {
  const server = await openSmtpServer();
  await server[Symbol.asyncDispose]();
  const error = await failureOf(createMailer({ smtpUrl: server.url, from: FROM }).send(MAIL));
  expect(error).toMatchObject({
    code: "UNREACHABLE",
    retryable: true,
    detail: expect.not.stringContaining("127.0.0.1"),
  });
});

test("the mailer sends neither mail nor password to a server with an untrusted certificate", async () => {
  await using server = await openSmtpServer({ startTls: true });
  const error = await failureOf(createMailer({ smtpUrl: server.url, from: FROM }).send(MAIL));
  expect(error).toMatchObject({ code: "UNREACHABLE", retryable: true, detail: expect.stringContaining("secure") });
  expect(server.received).toEqual([]);
});

test("send fails with UNREACHABLE if an smtps URL leads to a server without TLS", async () => {
  await using server = await openSmtpServer();
  const mailer = createMailer({ smtpUrl: server.url.replace("smtp:", "smtps:"), from: FROM });
  expect(await failureOf(mailer.send(MAIL))).toMatchObject({
    code: "UNREACHABLE",
    detail: expect.stringContaining("secure"),
  });
});

test.each<[string, (socket: Socket) => void]>([
  ["sends nothing", () => undefined],
  ["sends its greeting very slowly", sendSlowly],
])("send fails with TIMEOUT for a server that %s", async (_what, behave) => {
  await using server = await openRawServer(behave);
  const mailer = createMailer({ smtpUrl: server.url, from: FROM, timeoutMs: 100 });
  expect(await failureOf(mailer.send(MAIL))).toMatchObject({ code: "TIMEOUT", retryable: true });
});

test("send fails with UNREACHABLE if the server closes the connection", async () => {
  await using server = await openRawServer((socket) => socket.end("220 hello\r\n"));
  const error = await failureOf(createMailer({ smtpUrl: server.url, from: FROM }).send(MAIL));
  expect(error).toMatchObject({ code: "UNREACHABLE", retryable: true });
});

test.each(["mail.example.com:25", "http://mail.example.com", "smtp://", "localhost"])(
  "createMailer rejects the SMTP URL %s",
  (smtpUrl) => {
    expect(() => createMailer({ smtpUrl, from: FROM })).toThrow(InvalidMailerOptionsError);
  },
);

test.each(["", "nobody", "A <a@b.example>\r\nBcc: c@d.example", "a@b.example, c@d.example"])(
  "createMailer rejects the sender %j",
  (from) => {
    expect(() => createMailer({ smtpUrl: undefined, from })).toThrow(InvalidMailerOptionsError);
  },
);

test("close waits for mail that is being sent", async () => {
  await using server = await openSmtpServer();
  const mailer = createMailer({ smtpUrl: server.url, from: FROM });
  const sending = mailer.send(MAIL);
  await mailer.close();
  expect(server.received).toHaveLength(1);
  await sending;
  expect(await failureOf(mailer.send(MAIL))).toMatchObject({ code: "UNREACHABLE", retryable: true });
});

test("close aborts mail that is still being sent after graceMs", async () => {
  await using server = await openRawServer(() => undefined);
  const mailer = createMailer({ smtpUrl: server.url, from: FROM, timeoutMs: 60_000 });
  const sending = failureOf(mailer.send(MAIL));
  await mailer.close({ graceMs: 50 });
  expect(await sending).toMatchObject({ code: "TIMEOUT", retryable: true });
});

async function failureOf(sending: Promise<unknown>): Promise<MailNotSentError> {
  const error: unknown = await sending.catch((caught: unknown) => caught);
  if (error instanceof MailNotSentError) return error;
  throw new Error("expected a MailNotSentError", { cause: error });
}

function sendSlowly(socket: Socket): void {
  const drip = setInterval(() => socket.write("220-wait\r\n"), 20);
  socket.on("close", () => clearInterval(drip));
}

type Received = { envelope: { from: string; to: string[] }; mail: Email };
type SmtpBehaviour = { refuse?: Record<string, number>; login?: { user: string; pass: string }; startTls?: boolean };

async function openSmtpServer(behaviour: SmtpBehaviour = {}) {
  const received: Received[] = [];
  const server = new SMTPServer({
    ...smtpOptions(behaviour),
    onData(stream, { envelope: { mailFrom, rcptTo } }, callback) {
      void (async function receive() {
        const envelope = { from: mailFrom === false ? "" : mailFrom.address, to: rcptTo.map(({ address }) => address) };
        received.push({ envelope, mail: await PostalMime.parse(await text(stream)) });
        callback();
      })();
    },
  });
  server.on("error", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((closed) => {
        server.close(closed);
      });
    },
  };
}

function smtpOptions({ refuse = {}, login, startTls = false }: SmtpBehaviour): SMTPServerOptions {
  return {
    disabledCommands: [...(startTls ? [] : ["STARTTLS"]), ...(login === undefined ? ["AUTH"] : [])],
    allowInsecureAuth: true,
    closeTimeout: 100,
    logger: false,
    onAuth({ username, password }, _session, callback) {
      if (username === login?.user && password === login?.pass) callback(null, { user: username });
      else callback(Object.assign(new Error(`Invalid login ${username} ${password}`), { responseCode: 535 }));
    },
    onRcptTo({ address }, _session, callback) {
      const responseCode = refuse[address];
      if (responseCode === undefined) callback();
      else callback(Object.assign(new Error(`<${address}>: not here`), { responseCode }));
    },
  };
}

async function openRawServer(behave: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    behave(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
