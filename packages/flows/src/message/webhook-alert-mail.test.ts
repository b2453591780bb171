import { describe, expect, test } from "vitest";
import type { WebhookAlert } from "./webhook-alert.ts";
import { webhookAlertMail } from "./webhook-alert-mail.ts";

const FAILED: WebhookAlert["facts"] = {
  since: "2026-11-20T09:40:55.000Z",
  eventId: "019aa3bb-7d88-7e55-a0b1-c2d3e4f50617",
  kind: "payment.collected",
  stream: "MUM/2023/00123",
  sequence: 14,
  attempts: 7,
  url: "https://hooks.acme.example/collections",
  status: 503,
  body: "<html>\n<title>Maintenance</title>\n",
  errorCode: "NON_2XX",
  errorDetail: "The callback answered 503; any 2xx acknowledges.",
};

const ENDPOINT: WebhookAlert["endpoint"] = {
  url: "https://hooks.acme.example/collections",
  state: "active",
  nextProbeAt: null,
  waiting: 12,
  parked: 2,
};
const SUSPENDED = { ...ENDPOINT, state: "suspended", nextProbeAt: new Date("2026-11-20T10:27:31Z") } as const;

function mail(cause: WebhookAlert["cause"], given: Partial<WebhookAlert> = {}) {
  return webhookAlertMail({
    cause,
    happenedAt: "2026-11-20T10:12:31.208Z",
    facts: FAILED,
    heldBack: 0,
    environment: "live",
    lender: { code: "ACME", name: "Acme Finance", timeZone: "Asia/Kolkata" },
    endpoint: ENDPOINT,
    probeIntervalMs: 900_000,
    ...given,
  });
}

describe("the mail has the expected text", () => {
  test("for a suspension", () => {
    const { subject, text } = mail("suspended", {
      facts: { ...FAILED, consecutiveFailures: 20 },
      endpoint: SUSPENDED,
    });
    expect(subject).toBe("[ACME live] Webhooks suspended: your callback keeps failing");
    expect(text).toBe(`Acme Finance (ACME), environment live

Deliveries to your callback are suspended: 20 attempts in a row failed. No event is lost.

Callback:      https://hooks.acme.example/collections
Failing since: 2026-11-20 15:10:55 Asia/Kolkata (2026-11-20 09:40:55 UTC)
Suspended at:  2026-11-20 15:42:31 Asia/Kolkata (2026-11-20 10:12:31 UTC)
Event:         evt_019aa3bb7d887e55a0b1c2d3e4f50617
               payment.collected, loan MUM/2023/00123, sequence 14
Last answer:   HTTP 503

WHY

Your server is overloaded or under maintenance (503).

WHAT TO DO

Restore your server or add capacity. To set the time of the next attempt, send Retry-After of up to an hour.

WHAT HAPPENS NEXT

The service sends a signed ping to your callback at 2026-11-20 15:57:31 Asia/Kolkata (2026-11-20 10:27:31 UTC) and then every 15 minutes. The first ping that your callback answers with 2xx ends the suspension, and you get a mail about it.

You do not have to wait: POST /api/v1/partner/webhooks/test sends a ping at once, and an answer of 2xx ends the suspension too.

12 events wait, and new events are added. Waiting uses up no attempts. After the suspension the events are sent automatically: slowly at first, and for each loan in the order of the sequence.

Parked, and not sent again automatically: 2 events. To send parked events again: POST /api/v1/partner/webhooks/deliveries/replay.

LAST ANSWER: HTTP 503, which began with

| <html>
| <title>Maintenance</title>

You get this mail because you are a technical contact of ACME. The operator of the service can change the contacts.`);
  });

  test("for a parked event", () => {
    const { subject, text } = mail("parked", { heldBack: 3 });
    expect(subject).toBe("[ACME live] A webhook is parked: every attempt failed");
    expect(text).toBe(`Acme Finance (ACME), environment live

An event is parked: 7 attempts to deliver it failed. It is kept, but it is not sent again automatically.

The same happened 3 more times since the last mail of this kind. There is at most one such mail an hour.

Callback:      https://hooks.acme.example/collections
Event created: 2026-11-20 15:10:55 Asia/Kolkata (2026-11-20 09:40:55 UTC)
Parked at:     2026-11-20 15:42:31 Asia/Kolkata (2026-11-20 10:12:31 UTC)
Event:         evt_019aa3bb7d887e55a0b1c2d3e4f50617
               payment.collected, loan MUM/2023/00123, sequence 14
Last answer:   HTTP 503

WHY

Your server is overloaded or under maintenance (503).

WHAT TO DO

Restore your server or add capacity. To set the time of the next attempt, send Retry-After of up to an hour.

WHAT HAPPENS NEXT

The event is kept for 30 days. When your callback works again, request a replay. It sends the event with the same id, body and sequence:

  POST /api/v1/partner/webhooks/deliveries/evt_019aa3bb7d887e55a0b1c2d3e4f50617/replay
  POST /api/v1/partner/webhooks/deliveries/replay         (several, by loan, kind and time)
  GET  /api/v1/partner/webhooks/deliveries?state=parked   (2 now)

Until then, the loan's sequence has a gap. GET /api/v1/partner/cases/MUM%2F2023%2F00123 returns the loan's current state.

Other events are still delivered.

LAST ANSWER: HTTP 503, which began with

| <html>
| <title>Maintenance</title>

You get this mail because you are a technical contact of ACME. The operator of the service can change the contacts.`);
  });

  test("for an answer with 410", () => {
    const { subject, text } = mail("gone", { facts: { ...FAILED, status: 410, body: "" } });
    expect(subject).toBe("[ACME live] Your callback answered 410 Gone");
    expect(text).toBe(`Acme Finance (ACME), environment live

Your callback answered 410, which means that it is gone permanently. The service handles this like any other failure.

Callback:      https://hooks.acme.example/collections
Failing since: 2026-11-20 15:10:55 Asia/Kolkata (2026-11-20 09:40:55 UTC)
Answered at:   2026-11-20 15:42:31 Asia/Kolkata (2026-11-20 10:12:31 UTC)
Event:         evt_019aa3bb7d887e55a0b1c2d3e4f50617
               payment.collected, loan MUM/2023/00123, sequence 14
Last answer:   HTTP 410

WHY

Your server says that the callback is gone for good (410).

WHAT TO DO

Register the URL of your current callback, or answer 2xx at the registered URL again.

WHAT HAPPENS NEXT

Your callback stays registered. The event is sent again, or parked if this was its last attempt. After enough failures in a row, deliveries are suspended and events wait. No event is lost.

Other events are still delivered.

LAST ANSWER: HTTP 410, without a body

You get this mail because you are a technical contact of ACME. The operator of the service can change the contacts.`);
  });

  test("for a recovery", () => {
    const { subject, text } = mail("recovered", { facts: { since: FAILED.since } });
    expect(subject).toBe("[ACME live] Webhooks recovered: your callback answers again");
    expect(text).toBe(`Acme Finance (ACME), environment live

Your callback answers again. The suspension is over, and the waiting events are sent automatically.

Callback:        https://hooks.acme.example/collections
Suspended since: 2026-11-20 15:10:55 Asia/Kolkata (2026-11-20 09:40:55 UTC)
Recovered at:    2026-11-20 15:42:31 Asia/Kolkata (2026-11-20 10:12:31 UTC)

WHAT HAPPENS NEXT

12 events wait to be sent. This happens automatically: slowly at first, and for each loan in the order of the sequence. You do not have to do anything.

Parked, and not sent again automatically: 2 events. To send parked events again: POST /api/v1/partner/webhooks/deliveries/replay.

You get this mail because you are a technical contact of ACME. The operator of the service can change the contacts.`);
  });
});

describe("a late mail", () => {
  test("about a suspension that has ended says that it is over, and announces no ping", () => {
    const { text } = mail("suspended", { endpoint: { ...ENDPOINT, waiting: 0, parked: 0 } });
    expect(text).toContain(`WHAT HAPPENS NEXT

Your callback has answered in the meantime, and the suspension is over.

No events are waiting. You do not have to do anything.

LAST ANSWER`);
    expect(text).not.toContain("signed ping");
  });

  test("about a recovery says that the callback is suspended again, and when the next ping is sent", () => {
    const { text } = mail("recovered", { facts: { since: FAILED.since }, endpoint: SUSPENDED });
    expect(text).toContain(`WHAT HAPPENS NEXT

In the meantime your callback has failed again and is suspended.

The service sends a signed ping to your callback at 2026-11-20 15:57:31`);
    expect(text).not.toContain("do not have to do anything");
  });

  test.each(["parked", "gone"] as const)("with the cause %s says that the callback is now suspended", (cause) => {
    const { text } = mail(cause, { endpoint: { ...SUSPENDED, waiting: 1 } });
    expect(text).toContain(
      "Your callback is now suspended. 1 event waits until your callback answers a ping with 2xx.",
    );
    expect(text).not.toContain("Other events are still delivered");
  });

  test("for a lender that has removed its callback announces no ping", () => {
    const { text } = mail("suspended", { endpoint: { ...SUSPENDED, url: null } });
    expect(text).toContain("No callback is registered any more. Ask the operator of the service to register one.");
    expect(text).not.toContain("signed ping");
  });
});

test("without an answer, the mail contains the error instead", () => {
  const errorDetail = "The server refused the connection (ECONNREFUSED).";
  const { text } = mail("gone", {
    facts: { ...FAILED, status: null, body: null, errorCode: "CONNECT", errorDetail },
  });
  expect(text).toContain(`Last answer:   none. ${errorDetail}`);
  expect(text).toContain("WHY\n\nNothing listens on the port of the callback URL: the connection was refused.");
  expect(text).not.toContain("LAST ANSWER");
});

test("the mail names the target of a redirect", () => {
  const { text } = mail("parked", {
    facts: { ...FAILED, status: 308, errorCode: "REDIRECT", location: "/v2/collections?key=s3cret" },
  });
  expect(text).toContain("Your server redirected to https://hooks.acme.example/v2/collections (308).");
  expect(text).not.toContain("s3cret");
});

test("for a lender in UTC, the mail shows each time once", () => {
  const { text } = mail("gone", { lender: { code: "ACME", name: "Acme Finance", timeZone: "UTC" } });
  expect(text).toContain("Failing since: 2026-11-20 09:40:55 UTC\n");
});

test("the mail contains no secrets of the callback's URL", () => {
  const url = "https://asha:s3cret@hooks.acme.example:8443/collections?token=s3cret#s3cret";
  for (const cause of ["suspended", "parked", "gone", "recovered"] as const) {
    const facts = cause === "recovered" ? { since: FAILED.since } : { ...FAILED, url };
    const { subject, text } = mail(cause, { facts, endpoint: { ...SUSPENDED, url } });
    expect(text).toContain("https://hooks.acme.example:8443/collections\n");
    expect(subject + text).not.toMatch(/s3cret|asha/);
  }
});

test("each line of the callback's answer is quoted with a bar", () => {
  const body = `\x1b[2J\0ok\r\nWHAT HAPPENS NEXT\r\n\r\nPay here: \u{202E}moc.live\n${"x".repeat(5_000)}`;
  const { text } = mail("gone", { facts: { ...FAILED, body } });
  const [, quotation = ""] = text.split("which began with\n\n");
  expect(quotation.split("\n").slice(0, 4)).toEqual([
    String.raw`| \u{1b}[2J\u{0}ok`,
    "| WHAT HAPPENS NEXT",
    "|",
    String.raw`| Pay here: \u{202e}moc.live`,
  ]);
  expect(quotation).toContain("xxx\n(cut here)\n\nYou get this mail");
  expect(text.match(/^WHAT HAPPENS NEXT$/gm)).toHaveLength(1);
  expect(text.length).toBeLessThan(5_000);
  expect(text).not.toMatch(/(?!\n)\p{Cc}|\p{Cf}/u);
});

test("names from outside cannot add lines to the mail", () => {
  const lender = { code: "ACME", name: "Acme\r\n\r\nPay: https://evil.example", timeZone: "UTC" };
  const { text } = mail("gone", { lender, facts: { ...FAILED, stream: "LN\n1\u{202E}" } });
  expect(text.split("\n")[0]).toBe("Acme Pay: https://evil.example (ACME), environment live");
  expect(text).toContain(String.raw`payment.collected, loan LN 1\u{202e}, sequence 14`);
});
