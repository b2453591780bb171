import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { startFakeWhatsApp, type FakeWhatsApp } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type DoorStage, doorStage, type DoorVisit } from "../fixtures/door-stage.ts";
import { aFieldPartner, assign, startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient, everything } from "../fixtures/graphql-client.ts";
import { startProcess } from "../fixtures/processes.ts";

// A process starts in a second, and in ten on a machine that does much else.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const ACCOUNT = { token: "EAAG-token", phoneNumberId: "106540352242922" };
const WATCH = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { id status } }";
const AGAIN = "paymentLink { id status deliveries { channel status failureCode } }";

let service: TestService;
let whatsapp: FakeWhatsApp;
let stage: DoorStage;

beforeAll(async () => {
  whatsapp = await startFakeWhatsApp(ACCOUNT);
  afterFile(() => whatsapp.close());
  service = await startTestService({ settings: { WHATSAPP_BASE_URL: whatsapp.url } });
  stage = await doorStage(service, {
    whatsappPhoneNumberId: ACCOUNT.phoneNumberId,
    whatsappToken: ACCOUNT.token,
  });
});

beforeEach(() => {
  whatsapp.behaviour = "ok";
});

/** A link that may be shown, and sent where `channels` says. */
async function aLiveLink(channels: string[] = [], fields = {}): Promise<DoorVisit & { id: string; url: string }> {
  const visit = await stage.visit(fields);
  const { paymentLink } = await stage.request(visit.visitId, { channels });
  const status = channels.includes("WHATSAPP") ? "SENT" : "MINTED";
  await expect.poll(async () => (await stage.link(paymentLink.id)).status, { timeout: 10_000 }).toBe(status);
  const { url } = await stage.link(paymentLink.id);
  return { ...visit, id: paymentLink.id, url };
}

function resend(paymentLinkId: string, input: object = {}, as = stage.app) {
  return as.mutate("resendPaymentLink", { paymentLinkId, channels: ["WHATSAPP"], ...input }, AGAIN);
}

function messagesOf(url: string): number {
  return whatsapp.messages.filter(({ parameters }) => parameters.includes(url)).length;
}

describe("a link is sent again", () => {
  test("up to three times over a channel, and says so when that is enough", async () => {
    const { id, url } = await aLiveLink(["WHATSAPP"]);
    for (const sent of [2, 3]) {
      expect(await resend(id, { channels: undefined })).toMatchObject({ __typename: "ResendPaymentLinkPayload" });
      await expect.poll(() => messagesOf(url), { timeout: 10_000 }).toBe(sent);
    }
    expect(await resend(id)).toEqual({
      __typename: "ResendLimitReached",
      code: "RESEND_LIMIT_REACHED",
      message: "The link has gone out 3 times by WhatsApp: show it.",
    });
    expect(messagesOf(url)).toBe(3);
  });

  test("over one channel at least: none is a mistake of the app's", async () => {
    const { id } = await aLiveLink();
    const input = { idempotencyKey: randomUUID(), paymentLinkId: id, channels: [] };
    const { errors } = await stage.app.ask(
      "mutation ($input: ResendPaymentLinkInput!) { resendPaymentLink(input: $input) { __typename } }",
      { input },
    );
    expect(errors).toMatchObject([
      { message: "Name at least one channel, or leave `channels` out.", extensions: { code: "BAD_INPUT" } },
    ]);
    expect((await stage.link(id)).deliveries).toEqual([]);
  });

  test("once for a key, ten times at once, also one that was only to be shown", async () => {
    const { id, url } = await aLiveLink();
    const idempotencyKey = randomUUID();
    const answers = await Promise.all(Array.from({ length: 10 }, () => resend(id, { idempotencyKey })));
    expect(answers.every(({ __typename }) => __typename === "ResendPaymentLinkPayload")).toBe(true);
    await expect.poll(async () => (await stage.link(id)).status, { timeout: 10_000 }).toBe("SENT");
    expect((await stage.link(id)).deliveries).toEqual([{ channel: "WHATSAPP", status: "SENT", failureCode: null }]);
    expect(messagesOf(url)).toBe(1);
    expect(await resend(id, { idempotencyKey, channels: ["EMAIL"] })).toMatchObject({ code: "IDEMPOTENCY_CONFLICT" });
  });

  test("never more than three times, however many want it at once", async () => {
    const { id } = await aLiveLink();
    const answers = await Promise.all(Array.from({ length: 8 }, () => resend(id)));
    expect(answers.filter(({ code }) => code === "RESEND_LIMIT_REACHED")).toHaveLength(5);
    expect((await stage.link(id)).deliveries).toHaveLength(3);
  });

  test("only while it may be paid by, on a case that may be worked, by whoever asked for it", async () => {
    const paid = await aLiveLink();
    await stage.lender.pay(linkIdOf(paid.url));
    expect(await resend(paid.id)).toMatchObject({
      __typename: "PaymentLinkNotLive",
      message: "The link is paid: nobody is to pay by it now.",
    });
    const held = await aLiveLink();
    const dispute = { visitId: held.visitId, disposition: "DISPUTE", occurredAt: new Date().toISOString() };
    await stage.app.mutate("completeVisit", dispute, "case { status }");
    expect(await resend(held.id)).toMatchObject({ __typename: "CaseNotWorkable" });
    const guest = new AppClient(service.url, (await aFieldPartner(service)).accessToken);
    const live = await aLiveLink();
    expect(await resend(live.id, {}, guest)).toMatchObject({
      __typename: "PaymentLinkNotFound",
      code: "PAYMENT_LINK_NOT_FOUND",
    });
    expect((await stage.link(live.id)).deliveries).toEqual([]);
  });
});

describe("a link that gave way to a newer one", () => {
  test("can still be paid: the payment is booked, and the link is PAID", async () => {
    const old = await aLiveLink();
    const { paymentLink: newer } = await stage.request(old.visitId, {
      amount: { minor: "100000", currency: "INR" },
      channels: [],
    });
    const updates = await everything(stage.app.watch(WATCH, { id: old.id }));
    expect(updates.at(-1)?.data?.["paymentLinkUpdated"].status).toBe("SUPERSEDED");
    await stage.lender.pay(linkIdOf(old.url));
    expect(await stage.link(old.id, "status")).toEqual({ status: "PAID" });
    expect(await stage.link(newer.id, "status")).toEqual({ status: "MINTED" });
    const { data } = await stage.app.ask("query ($id: ID!) { case(id: $id) { totalCollected { minor } } }", {
      id: old.caseId,
    });
    expect(data).toEqual({ case: { totalCollected: { minor: "250000" } } });
  });
});

test("who takes a case over sees no link of who had it, neither on the case nor by its id", async () => {
  const { loan, caseId, id } = await aLiveLink();
  const successor = await aFieldPartner(service);
  await assign(service, stage.lender.code, loan, successor.id);
  const query = `query ($caseId: ID!, $id: ID!) {
    case(id: $caseId) { activeLink { id } } paymentLink(id: $id) { id } node(id: $id) { id } }`;
  const theirs = await new AppClient(service.url, successor.accessToken).ask(query, { caseId, id });
  expect(theirs.data).toEqual({ case: { activeLink: null }, paymentLink: null, node: null });
  const mine = await stage.app.ask(query, { caseId, id });
  expect(mine.data).toEqual({ case: null, paymentLink: { id }, node: { id } });
});

describe("watching", () => {
  test("over two processes shows each watcher its own link, and a new watcher how things are", async () => {
    const other = await startProcess({ DATABASE_URL: service.databaseUrl, ROLE: "server", LOG_LEVEL: "warn" });
    const elsewhere = new AppClient(other.url, stage.app.accessToken);
    stage.lender.mintBehaviour = "slow:500";
    const links = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const { visitId } = await stage.visit();
        return (await stage.request(visitId, { channels: [] })).paymentLink.id as string;
      }),
    );
    const seen = await Promise.all(
      links.flatMap((id) => [stage.app, elsewhere].map((app) => seenUntilMinted(app, id))),
    );
    stage.lender.mintBehaviour = "ok";
    links.forEach((id, index) => {
      for (const updates of seen.slice(2 * index, 2 * index + 2)) {
        expect(new Set(updates.map((update) => update.id))).toEqual(new Set([id]));
        expect(updates.at(-1)).toEqual({ id, status: "MINTED" });
      }
    });

    // A process that goes away ends its streams; the app comes back anywhere, and has missed nothing.
    const watched = elsewhere.watch(WATCH, { id: links[0]! });
    expect((await watched.next()).value?.data).toEqual({ paymentLinkUpdated: { id: links[0], status: "MINTED" } });
    other.send("SIGTERM");
    expect(await watched.next()).toMatchObject({ done: true });
    await stage.lender.pay(linkIdOf((await stage.link(links[0]!)).url));
    const again = await everything(stage.app.watch(WATCH, { id: links[0]! }));
    expect(again.map(({ data }) => data!["paymentLinkUpdated"].status)).toEqual(["PAID"]);
  });

  test("leaves nothing behind: 300 watchers who came and went take no memory", async () => {
    const { id } = await aLiveLink();
    await comeAndGo(id, 60);
    const before = heapBytes();
    await comeAndGo(id, 300);
    expect(heapBytes() - before).toBeLessThan(3 * 1_024 * 1_024);
  });

  test("has 20 places for each field partner: one more ends the oldest stream, and all the others go on", async () => {
    const { id } = await aLiveLink();
    const watched = Array.from({ length: 20 }, () => stage.app.watch(WATCH, { id }));
    for (const updates of watched) expect((await updates.next()).value?.data).toBeTruthy();
    const newest = stage.app.watch(WATCH, { id });
    expect((await newest.next()).value?.data).toEqual({ paymentLinkUpdated: { id, status: "MINTED" } });
    expect(await watched[0]!.next()).toMatchObject({ done: true });
    await stage.lender.pay(linkIdOf((await stage.link(id)).url));
    for (const updates of [...watched.slice(1), newest]) {
      expect((await updates.next()).value?.data).toEqual({ paymentLinkUpdated: { id, status: "PAID" } });
    }
  });
});

/** So many watch for a moment, 10 at a time. Who has left is noticed a moment later: then there is a place again. */
async function comeAndGo(id: string, watchers: number): Promise<void> {
  for (let gone = 0; gone < watchers;) {
    const watched = Array.from({ length: 10 }, () => stage.app.watch(WATCH, { id }));
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
