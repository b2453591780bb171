import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { FakeWhatsApp } from "@collections/lender-twin";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type StartedVisit, type VisitSetup, whatsappSetup } from "../fixtures/visit-setup.ts";
import { aFieldPartner, assign, type TestService } from "../fixtures/fixture.ts";
import { AppClient, allUpdates } from "../fixtures/graphql-client.ts";
import { startProcess } from "../fixtures/processes.ts";

const WATCH = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { id status } }";
const AGAIN = "paymentLink { id status deliveries { channel status failureCode } }";

let service: TestService;
let whatsapp: FakeWhatsApp;
let setup: VisitSetup;

beforeAll(async () => {
  ({ whatsapp, service, setup } = await whatsappSetup());
});

beforeEach(() => {
  whatsapp.behaviour = "ok";
});

/** Creates a minted link that is sent over `channels`. */
async function aLiveLink(channels: string[] = [], fields = {}): Promise<StartedVisit & { id: string; url: string }> {
  const visit = await setup.visit(fields);
  const { paymentLink } = await setup.request(visit.visitId, { channels });
  const status = channels.includes("WHATSAPP") ? "SENT" : "MINTED";
  await expect.poll(async () => (await setup.link(paymentLink.id)).status).toBe(status);
  const { url } = await setup.link(paymentLink.id);
  return { ...visit, id: paymentLink.id, url };
}

function resend(paymentLinkId: string, input: object = {}, as = setup.app) {
  return as.mutate("resendPaymentLink", { paymentLinkId, channels: ["WHATSAPP"], ...input }, AGAIN);
}

function messagesOf(url: string): number {
  return whatsapp.messages.filter(({ parameters }) => parameters.includes(url)).length;
}

describe("resendPaymentLink", () => {
  test("sends a link at most three times over a channel, then returns ResendLimitReached", async () => {
    const { id, url } = await aLiveLink(["WHATSAPP"]);
    for (const sent of [2, 3]) {
      expect(await resend(id, { channels: undefined })).toMatchObject({ __typename: "ResendPaymentLinkPayload" });
      await expect.poll(() => messagesOf(url)).toBe(sent);
    }
    expect(await resend(id)).toEqual({
      __typename: "ResendLimitReached",
      code: "RESEND_LIMIT_REACHED",
      message: "The link was already sent 3 times by WhatsApp: show it.",
    });
    expect(messagesOf(url)).toBe(3);
  });

  test("rejects an empty list of channels with BAD_INPUT", async () => {
    const { id } = await aLiveLink();
    const input = { idempotencyKey: randomUUID(), paymentLinkId: id, channels: [] };
    const { errors } = await setup.app.ask(
      "mutation ($input: ResendPaymentLinkInput!) { resendPaymentLink(input: $input) { __typename } }",
      { input },
    );
    expect(errors).toMatchObject([
      { message: "Name at least one channel, or leave `channels` out.", extensions: { code: "BAD_INPUT" } },
    ]);
    expect((await setup.link(id)).deliveries).toEqual([]);
  });

  test("sends the link once for ten concurrent requests with one idempotency key, even if the link was requested without channels", async () => {
    const { id, url } = await aLiveLink();
    const idempotencyKey = randomUUID();
    const answers = await Promise.all(Array.from({ length: 10 }, () => resend(id, { idempotencyKey })));
    expect(answers.every(({ __typename }) => __typename === "ResendPaymentLinkPayload")).toBe(true);
    await expect.poll(async () => (await setup.link(id)).status).toBe("SENT");
    expect((await setup.link(id)).deliveries).toEqual([{ channel: "WHATSAPP", status: "SENT", failureCode: null }]);
    expect(messagesOf(url)).toBe(1);
    expect(await resend(id, { idempotencyKey, channels: ["EMAIL"] })).toMatchObject({ code: "IDEMPOTENCY_CONFLICT" });
  });

  test("sends a link at most three times for eight concurrent requests", async () => {
    const { id } = await aLiveLink();
    const answers = await Promise.all(Array.from({ length: 8 }, () => resend(id)));
    expect(answers.filter(({ code }) => code === "RESEND_LIMIT_REACHED")).toHaveLength(5);
    expect((await setup.link(id)).deliveries).toHaveLength(3);
  });

  test("works only for a live link, on a workable case, for the field partner who requested the link", async () => {
    const paid = await aLiveLink();
    await setup.lender.pay(linkIdOf(paid.url));
    expect(await resend(paid.id)).toMatchObject({
      __typename: "PaymentLinkNotLive",
      message: "The link is paid: it can no longer be paid.",
    });
    const held = await aLiveLink();
    const dispute = { visitId: held.visitId, disposition: "DISPUTE", occurredAt: new Date().toISOString() };
    await setup.app.mutate("completeVisit", dispute, "case { status }");
    expect(await resend(held.id)).toMatchObject({ __typename: "CaseNotWorkable" });
    const guest = new AppClient(service.url, (await aFieldPartner(service)).accessToken);
    const live = await aLiveLink();
    expect(await resend(live.id, {}, guest)).toMatchObject({
      __typename: "PaymentLinkNotFound",
      code: "PAYMENT_LINK_NOT_FOUND",
    });
    expect((await setup.link(live.id)).deliveries).toEqual([]);
  });
});

describe("a superseded link", () => {
  test("can still be paid: the payment is booked, and the link becomes PAID", async () => {
    const old = await aLiveLink();
    const { paymentLink: newer } = await setup.request(old.visitId, {
      amount: { minor: "100000", currency: "INR" },
      channels: [],
    });
    const updates = await allUpdates(setup.app.watch(WATCH, { id: old.id }));
    expect(updates.at(-1)?.data?.["paymentLinkUpdated"].status).toBe("SUPERSEDED");
    await setup.lender.pay(linkIdOf(old.url));
    expect(await setup.link(old.id, "status")).toEqual({ status: "PAID" });
    expect(await setup.link(newer.id, "status")).toEqual({ status: "MINTED" });
    const { data } = await setup.app.ask("query ($id: ID!) { case(id: $id) { totalCollected { minor } } }", {
      id: old.caseId,
    });
    expect(data).toEqual({ case: { totalCollected: { minor: "250000" } } });
  });
});

test("a case's new field partner cannot see links of the previous field partner, neither on the case nor by id", async () => {
  const { loan, caseId, id } = await aLiveLink();
  const successor = await aFieldPartner(service);
  await assign(service, setup.lender.code, loan, successor.id);
  const query = `query ($caseId: ID!, $id: ID!) {
    case(id: $caseId) { activeLink { id } } paymentLink(id: $id) { id } node(id: $id) { id } }`;
  const theirs = await new AppClient(service.url, successor.accessToken).ask(query, { caseId, id });
  expect(theirs.data).toEqual({ case: { activeLink: null }, paymentLink: null, node: null });
  const mine = await setup.app.ask(query, { caseId, id });
  expect(mine.data).toEqual({ case: null, paymentLink: { id }, node: { id } });
});

describe("the subscription paymentLinkUpdated", () => {
  test("begins with the link's current state and sends only updates of that link, to watchers on two processes", async () => {
    const other = await startProcess({ DATABASE_URL: service.databaseUrl, ROLE: "server", LOG_LEVEL: "warn" });
    const elsewhere = new AppClient(other.url, setup.app.accessToken);
    setup.lender.mintBehaviour = "slow:500";
    const links = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { visitId } = await setup.visit();
        return (await setup.request(visitId, { channels: [] })).paymentLink.id as string;
      }),
    );
    const seen = await Promise.all(
      links.flatMap((id) => [setup.app, elsewhere].map((app) => seenUntilMinted(app, id))),
    );
    setup.lender.mintBehaviour = "ok";
    links.forEach((id, index) => {
      for (const updates of seen.slice(2 * index, 2 * index + 2)) {
        expect(new Set(updates.map((update) => update.id))).toEqual(new Set([id]));
        expect(updates.at(-1)).toEqual({ id, status: "MINTED" });
      }
    });

    // A process that stops ends its streams. The app then subscribes again at any running process and gets the current
    // state.
    const watched = elsewhere.watch(WATCH, { id: links[0]! });
    expect((await watched.next()).value?.data).toEqual({ paymentLinkUpdated: { id: links[0], status: "MINTED" } });
    other.send("SIGTERM");
    expect(await watched.next()).toMatchObject({ done: true });
    await setup.lender.pay(linkIdOf((await setup.link(links[0]!)).url));
    const again = await allUpdates(setup.app.watch(WATCH, { id: links[0]! }));
    expect(again.map(({ data }) => data!["paymentLinkUpdated"].status)).toEqual(["PAID"]);
  });

  test("leaks no memory over 300 subscriptions that were opened and closed", async () => {
    const { id } = await aLiveLink();
    await openAndClose(id, 60);
    const before = heapBytes();
    await openAndClose(id, 300);
    expect(heapBytes() - before).toBeLessThan(3 * 1_024 * 1_024);
  });

  test("allows 20 streams for each field partner: the 21st ends the oldest, and the others continue", async () => {
    const { id } = await aLiveLink();
    const watched = Array.from({ length: 20 }, () => setup.app.watch(WATCH, { id }));
    for (const updates of watched) expect((await updates.next()).value?.data).toBeTruthy();
    const newest = setup.app.watch(WATCH, { id });
    expect((await newest.next()).value?.data).toEqual({ paymentLinkUpdated: { id, status: "MINTED" } });
    expect(await watched[0]!.next()).toMatchObject({ done: true });
    await setup.lender.pay(linkIdOf((await setup.link(id)).url));
    for (const updates of [...watched.slice(1), newest]) {
      expect((await updates.next()).value?.data).toEqual({ paymentLinkUpdated: { id, status: "PAID" } });
    }
  });
});

/**
 * Opens and closes `watchers` subscriptions, 10 at a time. The service needs a moment to notice that a subscription was
 * closed. Until then the limit on streams may reject a few attempts; these are not counted.
 */
async function openAndClose(id: string, watchers: number): Promise<void> {
  for (let gone = 0; gone < watchers;) {
    const watched = Array.from({ length: 10 }, () => setup.app.watch(WATCH, { id }));
    const firsts = await Promise.all(watched.map((updates) => updates.next()));
    gone += firsts.filter(({ value }) => value?.data).length;
    await Promise.all(watched.map((updates) => updates.return(undefined)));
    await delay(10);
  }
}

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

async function seenUntilMinted(app: AppClient, id: string): Promise<{ id: string; status: string }[]> {
  const seen: { id: string; status: string }[] = [];
  for await (const { data } of app.watch(WATCH, { id })) {
    seen.push(data!["paymentLinkUpdated"]);
    if (seen.at(-1)?.status === "MINTED") break;
  }
  return seen;
}

function linkIdOf(url: string): string {
  return decodeURIComponent(url.split("/").at(-1)!);
}
