import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Case } from "@collections/cases";
import { databaseTime } from "@collections/database";
import type { MintBehaviour } from "@collections/lender-twin";
import { createVault } from "@collections/lenders";
import { createOutbound } from "@collections/outbound";
import {
  activeLinks,
  deliveriesOf,
  linkById,
  type PaymentLink,
  type UnavailableReason,
} from "@collections/payment-links";
import { directUrl } from "@collections/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  currentCase,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabaseUrl,
  importRow,
  openDatabase,
} from "../../tests/fixture.ts";
import { jobsWith, linkStage } from "../../tests/link-stage.ts";
import { holdCase } from "../case/change-case.ts";
import { type LinkDeps, sendPaymentLinkQueue } from "./link-jobs.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";
import { sweepPaymentLinks } from "./sweep-payment-links.ts";

const url = await flowsDatabaseUrl();
const database = await openDatabase(url);
const { deps, lender, fieldPartner, twin, visitedCase, request, link } = await linkStage(database);
afterEach(() => {
  twin.mintBehaviour = "ok";
});

function mint(requested: PaymentLink, changes: Partial<LinkDeps> = {}): Promise<void> {
  return mintPaymentLink({ ...deps, ...changes }, { lenderId: requested.lenderId, linkId: requested.id });
}

/** Mints a link, and calls `meanwhile` before the lender answers. */
async function mintAnd(requested: PaymentLink, meanwhile: () => Promise<unknown>): Promise<void> {
  twin.mintBehaviour = "held";
  const calls = twin.mints.length;
  const minting = mint(requested);
  await twin.waitFor(() => twin.mints.length > calls);
  await meanwhile();
  twin.answerHeldMints();
  await minting;
}

/** Returns the time at which an id was made, by the clock of its maker. */
function timeOfId(id: string): number {
  return Number.parseInt(id.replace("-", "").slice(0, 12), 16);
}

/** Requests a link as a server whose clock is wrong by `byMs`. */
async function requestAtOtherTime(visitId: string, byMs: number): Promise<PaymentLink> {
  const script = fileURLToPath(new URL("../../tests/request-at-other-time.ts", import.meta.url));
  const { stdout: id } = await promisify(execFile)(process.execPath, [
    "--disable-warning=ExperimentalWarning",
    script,
    directUrl(url),
    String(byMs),
    fieldPartner.id,
    visitId,
  ]);
  const requested = await linkById(database.em(), { lenderId: lender.id, id });
  assert(requested);
  return requested;
}

function orderOf({ sourceLoanNumber: loan }: Case) {
  return { lender, loan, reason: "test" };
}

test("onMint receives minted, or the reason why the link is unavailable", async () => {
  const outcomes: string[] = [];
  const onMint = (outcome: string) => void outcomes.push(outcome);
  await mint(await request((await visitedCase()).visitId), { onMint });
  twin.mintBehaviour = "error500";
  await mint(await request((await visitedCase()).visitId), { onMint });
  expect(outcomes).toEqual(["minted", "non_2xx"]);
});

describe("a link that the lender mints", () => {
  test("is stored with its URL, emits payment_link.created and is queued for each channel", async () => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    await mint(requested);

    const { linkId } = twin.mints.at(-1)!;
    const minted = await link(requested);
    expect(minted).toMatchObject({ status: "minted", linkId, url: twin.payUrl(linkId!) });
    expect(twin.mints.at(-1)).toMatchObject({
      outcome: "minted",
      idempotencyKey: requested.mintKey,
      request: {
        sourceLoanNumber: theCase.sourceLoanNumber,
        caseId: `case_${theCase.id.replaceAll("-", "")}`,
        visitId: `vis_${visitId.replaceAll("-", "")}`,
        amount: 2_500,
        currency: "INR",
        borrowerName: "Ravi Kumar",
        borrowerPhone: "+919800000001",
      },
    });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "payment_link.created",
      sequence: 4,
      status: "in_progress",
      data: { visitId: `vis_${visitId.replaceAll("-", "")}`, linkId, amount: 2_500 },
    });
    const deliveries = await deliveriesOf(database.em(), [minted]);
    expect(deliveries).toMatchObject([
      { channel: "whatsapp", status: "queued" },
      { channel: "email", status: "queued" },
    ]);
    for (const { id } of deliveries) expect(await jobsWith(database, sendPaymentLinkQueue, id)).toHaveLength(1);
  });

  test("is minted by one call, even with several concurrent jobs", async () => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    const calls = twin.mints.length;
    await Promise.all(Array.from({ length: 4 }, () => mint(requested)));
    await mint(requested);
    expect(twin.mints).toHaveLength(calls + 1);
    expect(await link(requested)).toMatchObject({ status: "minted" });
    expect(await eventsOfLoan(database, theCase)).toHaveLength(4);
  });

  test("is minted by one call, even if another worker whose clock is ahead processes the link during the call", async () => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    const calls = twin.mints.length;
    await mintAnd(requested, async () => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
      await mint(requested);
      await sweepPaymentLinks(deps, await databaseTime(database.em()));
      vi.useRealTimers();
    });
    expect(await link(requested)).toMatchObject({ status: "minted" });
    expect(twin.mints).toHaveLength(calls + 1);
  });

  test.each([
    ["behind", -660_000],
    ["ahead", 660_000],
  ])(
    "is minted and does not count as too old, even if the clock of the server that received the request is %s",
    async (_, byMs) => {
      const { visitId } = await visitedCase();
      const requested = await requestAtOtherTime(visitId, byMs);
      expect(Math.abs(timeOfId(requested.id) - Date.now())).toBeGreaterThan(600_000);
      expect(Math.abs(requested.createdAt.getTime() - Date.now())).toBeLessThan(60_000);
      expect(requested.askedAt).toEqual(requested.createdAt);
      await mint(requested);
      expect(await link(requested)).toMatchObject({ status: "minted" });
    },
  );

  test("supersedes the live link of the case", async () => {
    const { theCase, visitId } = await visitedCase();
    const first = await request(visitId);
    const second = await request(visitId, { amountMinor: 100_000n });
    const changed: string[] = [];
    const stop = database.signals.on(PAYMENT_LINK_CHANNEL, (id) => changed.push(id));
    await mint(first);
    await mint(second);
    stop();
    expect(await link(first)).toMatchObject({ status: "superseded" });
    expect(await activeLinks(database.em(), [{ lenderId: lender.id, caseId: theCase.id }])).toMatchObject([
      { id: second.id, status: "minted" },
    ]);
    expect(changed).toEqual([first.id, second.id, first.id]);
  });

  test("has the linkId of the first request if the request is repeated", async () => {
    const { theCase, visitId } = await visitedCase();
    const taps = [await request(visitId), await request(visitId)];
    for (const tap of taps) await mint(tap);
    expect(twin.mints.slice(-2).map(({ outcome }) => outcome)).toEqual(["minted", "repeated"]);
    const [first, second] = await Promise.all(taps.map(link));
    expect(second).toMatchObject({ status: "minted", linkId: first!.linkId });
    expect(first).toMatchObject({ status: "superseded" });
    expect(await eventsOfLoan(database, theCase)).toHaveLength(5);
  });

  test("is the only live link of its case after several concurrent requests", async () => {
    const { theCase, visitId } = await visitedCase();
    const links = await Promise.all([1n, 2n, 3n].map((amountMinor) => request(visitId, { amountMinor })));
    await Promise.all(links.map((one) => mint(one)));
    const statuses = (await Promise.all(links.map(link))).map(({ status }) => status);
    expect(statuses.filter((status) => status === "minted")).toHaveLength(1);
    expect(statuses.filter((status) => status === "superseded")).toHaveLength(2);
    const events = await eventsOfLoan(database, theCase);
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("emits its event and leaves the case on hold if the case is put on hold before the lender answers", async () => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    await mintAnd(requested, () => holdCase(database.em(), orderOf(theCase), ENVIRONMENT));
    const minted = await link(requested);
    expect(minted).toMatchObject({ status: "minted" });
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "payment_link.created",
      status: "on_hold",
    });
  });

  test("emits its event in the loan's next cycle and leaves the new case unchanged, if that cycle starts before the lender answers", async () => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    const { sourceLoanNumber, borrowerName, borrowerPhone } = theCase;
    await mintAnd(requested, async () => {
      await importRow(database, lender, { sourceLoanNumber, action: "withdraw" });
      await importRow(database, lender, { sourceLoanNumber, borrowerName, borrowerPhone, outstandingAmount: 900 });
    });
    expect(await link(requested)).toMatchObject({ status: "minted", caseId: theCase.id });
    const events = await eventsOfLoan(database, theCase);
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(events.at(-1)).toMatchObject({
      kind: "payment_link.created",
      cycle: 2,
      status: "new",
      outstandingAfter: 900,
    });
    expect(await currentCase(database, lender, sourceLoanNumber)).toMatchObject({ status: "new", workBegun: false });
  });

  test("becomes minted and emits payment_link.undelivered at once if it may not be sent over any channel", async () => {
    const { theCase, visitId } = await visitedCase({ consent: { whatsapp: false, email: false } });
    const requested = await request(visitId);
    await mint(requested);
    expect(await deliveriesOf(database.em(), [requested])).toMatchObject([
      { channel: "whatsapp", status: "suppressed", failureCode: "CONSENT_REFUSED" },
      { channel: "email", status: "suppressed", failureCode: "CONSENT_REFUSED" },
    ]);
    expect((await eventsOfLoan(database, theCase)).slice(-2)).toMatchObject([
      { kind: "payment_link.created", sequence: 4 },
      { kind: "payment_link.undelivered", sequence: 5, data: { channels: ["whatsapp", "email"] } },
    ]);
    expect(await link(requested)).toMatchObject({ status: "minted" });
  });

  test("becomes minted if the lender answers slowly but within the time limit", async () => {
    twin.mintBehaviour = "slow:50";
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    await mint(requested);
    expect(await link(requested)).toMatchObject({ status: "minted" });
  });
});

describe("a link that the lender does not mint", () => {
  test.each<[MintBehaviour, UnavailableReason]>([
    ["error500", "non_2xx"],
    ["status:401", "non_2xx"],
    ["redirect", "non_2xx"],
    ["refuse", "refused"],
    ["garbage", "bad_answer"],
    ["noLinkId", "bad_answer"],
    ["hugeBody", "bad_answer"],
    ["httpUrl", "bad_url"],
    ["javascriptUrl", "bad_url"],
    ["hang", "timeout"],
    ["drip", "timeout"],
    ["slow:60000", "timeout"],
    ["reset", "connect"],
  ])("is unavailable if the lender answers with %s (reason: %s)", async (behaviour, reason) => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    twin.mintBehaviour = behaviour;
    await mint(requested, reason === "timeout" ? { mintTimeoutMs: 150 } : {});
    expect((await expectUnavailable(requested, reason)).url).toBeNull();
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "payment_link.unavailable",
      sequence: 4,
      data: {
        visitId: `vis_${visitId.replaceAll("-", "")}`,
        amount: 2_500,
        reason,
        detail: expect.stringMatching(/\.$/) as string,
      },
    });
    // The service does not repeat the failed call. The next request makes a new call.
    twin.mintBehaviour = "ok";
    const calls: string[] = [];
    const outbound: typeof deps.outbound = {
      ...deps.outbound,
      request(call) {
        calls.push(call.url);
        return deps.outbound.request(call);
      },
    };
    await mint(requested, { outbound });
    expect(calls).toEqual([]);
  });

  test("is unavailable if the lender's address is not allowed (reason: blocked_address)", async () => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    const outbound = createOutbound();
    await mint(requested, { outbound });
    await outbound.close();
    const { url } = await expectUnavailable(requested, "blocked_address");
    expect(url).toBeNull();
  });

  test("is unavailable, with a detail for operators, if the lender's secrets cannot be decrypted", async () => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    await mint(requested, { vault: createVault({ masterKey: "b2".repeat(32) }) });
    const { unavailableDetail } = await expectUnavailable(requested, "not_configured");
    expect(unavailableDetail).toContain("master key");
  });

  async function expectUnavailable(requested: PaymentLink, reason: UnavailableReason): Promise<PaymentLink> {
    const now = await link(requested);
    expect(now).toMatchObject({ status: "unavailable", unavailableReason: reason });
    expect(now.unavailableDetail).not.toBe("");
    expect(await deliveriesOf(database.em(), [requested])).toEqual([]);
    return now;
  }
});

describe("a lender", () => {
  test("without a mint-link URL gets no call, and the link is unavailable", async () => {
    const stage = await linkStage(database, { lender: { mintLinkUrl: null, mintAuthHeader: null } });
    const { visitId } = await stage.visitedCase();
    const requested = await stage.request(visitId);
    await mint(requested);
    expect(await stage.link(requested)).toMatchObject({ status: "unavailable", unavailableReason: "not_configured" });
  });

  test("that accepts no connections makes the link unavailable", async () => {
    const stage = await linkStage(database);
    const { visitId } = await stage.visitedCase();
    const requested = await stage.request(visitId);
    await stage.twin.close();
    await mint(requested);
    expect(await stage.link(requested)).toMatchObject({ status: "unavailable", unavailableReason: "connect" });
  });
});
