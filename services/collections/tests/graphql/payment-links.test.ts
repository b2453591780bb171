import { randomUUID } from "node:crypto";
import { transaction } from "@collections/database";
import { issueAccessToken } from "@collections/field-partners";
import { startMailCatcher } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { anAssignedCase, type AssignedCase } from "../fixtures/assigned-case.ts";
import { aFieldPartner, aLender, signOut, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient, allUpdates } from "../fixtures/graphql-client.ts";

const LINK = `id status url unavailableReason unavailableReasonCode paidAt amount { minor currency }
  deliveries { channel status }
  fallback { upiUri qrSvg instructions bankAccount { accountNumber ifsc } }`;
const WATCH = `subscription ($id: ID!) { paymentLinkUpdated(id: $id) { ${LINK} } }`;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let fieldPartnerId: string;
let app: AppClient;

beforeAll(async () => {
  const mail = await startMailCatcher();
  afterFile(() => mail.close());
  service = await startTestService({ settings: { SMTP_URL: mail.smtpUrl } });
  lender = await aLender(service);
  const fieldPartner = await aFieldPartner(service);
  fieldPartnerId = fieldPartner.id;
  app = new AppClient(service.url, fieldPartner.accessToken);
});

beforeEach(() => {
  lender.mintBehaviour = "ok";
});

describe("a payment link", () => {
  test("goes from requested to minted, sent and paid, and the app sees each step", async () => {
    // Delay the mint call, so that the link is not minted before the answer to its request is read.
    lender.mintBehaviour = "slow:300";
    const { loan, visitId } = await aVisit({ borrowerEmail: "ravi@example.com" });
    const { paymentLink } = await requestLink({ visitId });
    expect(paymentLink).toMatchObject({ status: "REQUESTED", url: null, fallback: null, amount: { minor: "250000" } });

    const seen = new Map<string, Record<string, unknown>>();
    for await (const { data, headers } of app.watch(WATCH, { id: paymentLink.id })) {
      const link = data!["paymentLinkUpdated"];
      const [contentType, buffering] = [headers.get("content-type"), headers.get("x-accel-buffering")];
      seen.set(link.status, { ...link, contentType, buffering });
      const linkId = [...lender.links].find(([, { sourceLoanNumber }]) => sourceLoanNumber === loan)?.[0];
      if (link.status === "SENT") await lender.pay(linkId!);
    }
    expect(seen.get("MINTED")?.["url"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/pay\//);
    expect(seen.get("SENT")).toMatchObject({
      contentType: "text/event-stream",
      buffering: "no",
      deliveries: expect.arrayContaining([{ channel: "EMAIL", status: "SENT" }]) as unknown,
    });
    expect([...seen.keys()].at(-1)).toBe("PAID");
    expect(await readLink(paymentLink.id)).toMatchObject({ status: "PAID", paidAt: expect.any(String) });
  });

  test("is unavailable when the mint call fails, and shows the lender's QR code and bank details instead", async () => {
    lender.mintBehaviour = "error500";
    const { loan, visitId } = await aVisit();
    const { paymentLink } = await requestLink({ visitId });
    const last = await lastSeen(paymentLink.id);
    expect(last).toMatchObject({
      status: "UNAVAILABLE",
      url: null,
      unavailableReason: "The lender's system answered with an error.",
      unavailableReasonCode: "NON_2XX",
      fallback: {
        upiUri: `upi://pay?pa=acme@okbank&pn=Acme%20Finance&am=2500.00&cu=INR&tn=${loan}`,
        qrSvg: expect.stringMatching(/^<svg/),
        bankAccount: { accountNumber: "50100012345678", ifsc: "HDFC0000123" },
      },
    });
    expect(await readLink(paymentLink.id)).toEqual(last);
    // The worker counts the link after the transaction that the app has seen.
    const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
    await expect.poll(metrics).toMatch(/^collections_payment_links_total\{outcome="non_2xx"\} 1$/m);
  });

  test("is unavailable when its request arrives more than ten minutes late, and shows the lender's UPI link instead", async () => {
    const { loan, visitId } = await aVisit();
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const { paymentLink: old } = await requestLink({ visitId, occurredAt: minutesAgo(11) });
    expect(await lastSeen(old.id)).toMatchObject({
      status: "UNAVAILABLE",
      unavailableReason: "The link request is too old. Request a new link if you are still with the borrower.",
      unavailableReasonCode: "ASKED_TOO_LONG_AGO",
      fallback: { upiUri: expect.stringContaining("am=2500.00") as unknown },
      deliveries: [],
    });
    const { paymentLink: young } = await requestLink({ visitId, occurredAt: minutesAgo(9), channels: [] });
    await until(app.watch(WATCH, { id: young.id }), "MINTED");
    expect(lender.mints.filter(({ request }) => request?.sourceLoanNumber === loan)).toHaveLength(1);
    const { paymentLink: undated } = await requestLink({ visitId, occurredAt: "2999-01-01T00:00:00Z" });
    expect(await lastSeen(undated.id)).toMatchObject({ unavailableReasonCode: "ASKED_TOO_LONG_AGO" });
  });

  test("supersedes the live link of its case, and subscribers to the older link get the status SUPERSEDED", async () => {
    const { visitId, caseId } = await aVisit();
    const { paymentLink: older } = await requestLink({ visitId, channels: [] });
    const watched = app.watch(WATCH, { id: older.id });
    await until(watched, "MINTED");
    const { paymentLink: newer } = await requestLink({ visitId, minor: "100000", channels: [] });
    expect((await until(watched, "SUPERSEDED")).status).toBe("SUPERSEDED");
    expect(await watched.next()).toMatchObject({ done: true });
    await expect.poll(() => readLink(newer.id)).toMatchObject({ status: "MINTED" });
    const { data } = await app.ask("query ($id: ID!) { case(id: $id) { status activeLink { id status } } }", {
      id: caseId,
    });
    expect(data).toEqual({ case: { status: "IN_PROGRESS", activeLink: { id: newer.id, status: "MINTED" } } });
  });

  test("can be watched through a process that has no worker", async () => {
    const other = await startTestService({ settings: { DATABASE_URL: service.databaseUrl }, hasWorker: false });
    const { visitId } = await aVisit();
    lender.mintBehaviour = "slow:300";
    const { paymentLink } = await requestLink({ visitId, channels: [] });
    const elsewhere = new AppClient(other.url, app.accessToken);
    const updates = elsewhere.watch(WATCH, { id: paymentLink.id });
    expect((await updates.next()).value).toMatchObject({ data: { paymentLinkUpdated: { status: "REQUESTED" } } });
    expect((await updates.next()).value).toMatchObject({ data: { paymentLinkUpdated: { status: "MINTED" } } });
    // A process that stops completes its streams, so that apps subscribe again at another process.
    await other.server.stop(5_000);
    expect(await updates.next()).toMatchObject({ done: true });
  });
});

describe("the subscription to a payment link", () => {
  test("removes its listener when the app disconnects", async () => {
    const { visitId } = await aVisit();
    const { paymentLink } = await requestLink({ visitId, channels: [] });
    const { signals } = service.app.database;
    let listeners = 0;
    const on = signals.on.bind(signals);
    signals.on = (channel, listener) => {
      listeners += 1;
      const off = on(channel, listener);
      return () => {
        listeners -= 1;
        off();
      };
    };
    const updates = app.watch(WATCH, { id: paymentLink.id });
    await until(updates, "MINTED");
    expect(listeners).toBe(1);
    await updates.return(undefined);
    await expect.poll(() => listeners).toBe(0);
    signals.on = on;
  });

  test("ends when the session ends", async () => {
    const { visitId } = await aVisit();
    const { paymentLink } = await requestLink({ visitId, channels: [] });
    const em = service.app.database.em();
    const { accessToken } = await transaction(em, (tx) => issueAccessToken(tx, fieldPartnerId));
    const updates = new AppClient(service.url, accessToken).watch(WATCH, { id: paymentLink.id });
    await until(updates, "MINTED");
    await signOut(service, accessToken);
    await requestLink({ visitId, minor: "100000", channels: [] });
    expect((await updates.next()).value).toMatchObject({ errors: [{ extensions: { code: "UNAUTHENTICATED" } }] });
    expect(await updates.next()).toMatchObject({ done: true });
  });

  test("is refused for another field partner's link and without a token", async () => {
    const { visitId } = await aVisit();
    const { paymentLink } = await requestLink({ visitId, channels: [] });
    const guest = new AppClient(service.url, (await aFieldPartner(service)).accessToken);
    const [first] = await allUpdates(guest.watch(WATCH, { id: paymentLink.id }));
    expect(first?.errors).toMatchObject([
      { message: "You have no payment link with this id.", extensions: { code: "BAD_INPUT" } },
    ]);
    const unauthenticated = await allUpdates(new AppClient(service.url).watch(WATCH, { id: paymentLink.id }));
    expect(unauthenticated[0]?.errors).toMatchObject([{ extensions: { code: "UNAUTHENTICATED" } }]);
  });
});

describe("requestPaymentLink", () => {
  test("calls the lender once for ten concurrent requests with one idempotency key at a newly started process", async () => {
    const fresh = await startTestService({ settings: { DATABASE_URL: service.databaseUrl }, hasWorker: false });
    const { visitId, loan } = await aVisit();
    const idempotencyKey = randomUUID();
    const elsewhere = new AppClient(fresh.url, app.accessToken);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => requestLink({ visitId, idempotencyKey, channels: [] }, elsewhere)),
    );
    expect(new Set(answers.map(({ paymentLink }) => paymentLink.id)).size).toBe(1);
    await until(app.watch(WATCH, { id: answers[0].paymentLink.id }), "MINTED");
    expect(lender.mints.filter(({ request }) => request?.sourceLoanNumber === loan)).toHaveLength(1);
    expect(await requestLink({ visitId, idempotencyKey, minor: "300000", channels: [] })).toMatchObject({
      __typename: "IdempotencyConflict",
      code: "IDEMPOTENCY_CONFLICT",
    });
  });

  test.each([
    { minor: "99999", currency: "INR" },
    { minor: "500001", currency: "INR" },
    { minor: "0", currency: "INR" },
    { minor: "250000", currency: "USD" },
  ])("rejects $minor $currency as outside the allowed amounts of the case", async (amount) => {
    const { visitId } = await aVisit({ minimumAmount: 1000 });
    const query = `mutation ($input: RequestPaymentLinkInput!) { requestPaymentLink(input: $input) {
      ... on AmountNotAllowed { code message minimum { decimal } maximum { decimal currency } } } }`;
    const { data } = await app.ask(query, { input: { idempotencyKey: randomUUID(), visitId, amount } });
    expect(data!["requestPaymentLink"]).toEqual({
      code: "AMOUNT_NOT_ALLOWED",
      message: "Request an amount from ₹1,000.00 to ₹5,000.00.",
      minimum: { decimal: "1000.00" },
      maximum: { decimal: "5000.00", currency: "INR" },
    });
  });

  test("rejects a request on a held case or for another field partner's visit", async () => {
    const { visitId } = await aVisit();
    const guest = new AppClient(service.url, (await aFieldPartner(service)).accessToken);
    expect(await requestLink({ visitId }, guest)).toMatchObject({
      __typename: "VisitNotFound",
      code: "VISIT_NOT_FOUND",
    });
    expect(await requestLink({ visitId: randomUUID() })).toMatchObject({ __typename: "VisitNotFound" });
    const end = { visitId, disposition: "DISPUTE", occurredAt: new Date().toISOString() };
    expect(await app.mutate("completeVisit", end, "case { status }")).toMatchObject({ case: { status: "ON_HOLD" } });
    expect(await requestLink({ visitId })).toMatchObject({
      __typename: "CaseNotWorkable",
      code: "CASE_NOT_WORKABLE",
      message: "The case is on hold: do not contact the borrower.",
    });
  });

  test("makes a link that only its field partner can read", async () => {
    const { visitId } = await aVisit();
    const { paymentLink } = await requestLink({ visitId, channels: [] });
    const guest = new AppClient(service.url, (await aFieldPartner(service)).accessToken);
    const query = "query ($id: ID!) { paymentLink(id: $id) { id } node(id: $id) { id } }";
    expect((await guest.ask(query, { id: paymentLink.id })).data).toEqual({ paymentLink: null, node: null });
    expect((await app.ask(query, { id: paymentLink.id })).data).toEqual({
      paymentLink: { id: paymentLink.id },
      node: { id: paymentLink.id },
    });
  });
});

/** Starts a visit on a new case with ₹5,000 outstanding. */
async function aVisit(fields: object = {}): Promise<AssignedCase & { visitId: string }> {
  const assigned = await anAssignedCase(service, lender, fieldPartnerId, fields);
  const visitId = randomUUID();
  const start = { visitId, caseId: assigned.caseId, occurredAt: new Date().toISOString() };
  expect(await app.mutate("startVisit", start, "visit { visitId }")).toMatchObject({ visit: { visitId } });
  return { ...assigned, visitId };
}

function requestLink(
  { minor = "250000", ...input }: { minor?: string; visitId: string; [field: string]: unknown },
  as = app,
) {
  return as.mutate("requestPaymentLink", { amount: { minor, currency: "INR" }, ...input }, `paymentLink { ${LINK} }`);
}

async function readLink(id: string) {
  const { data } = await app.ask(`query ($id: ID!) { paymentLink(id: $id) { ${LINK} } }`, { id });
  return data!["paymentLink"];
}

async function lastSeen(id: string) {
  const updates = await allUpdates(app.watch(WATCH, { id }));
  return updates.at(-1)!.data!["paymentLinkUpdated"];
}

/** Reads updates until the link has this status, and returns the link. */
async function until(updates: ReturnType<AppClient["watch"]>, status: string) {
  for (;;) {
    const { value } = await updates.next();
    const link = value?.data?.["paymentLinkUpdated"];
    if (!link || link.status === status) return link;
  }
}
