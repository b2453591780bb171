import { newId, query, statement, transaction } from "@collections/database";
import {
  claimDelivery,
  claimMint,
  deliveriesOf,
  heldReports,
  holdReports,
  type PaymentLink,
  recordDelivery,
} from "@collections/payment-links";
import { describe, expect, test } from "vitest";
import { flowsDatabase } from "../../tests/fixture.ts";
import { jobsWith, linkStage } from "../../tests/link-stage.ts";
import { mintPaymentLinkQueue, sendPaymentLinkQueue } from "./link-jobs.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import { recordMessageReports } from "./record-message-reports.ts";
import { sweepPaymentLinks } from "./sweep-payment-links.ts";

const database = await flowsDatabase();
const { deps, lender, twin, visitedCase, request, link } = await linkStage(database);

function sweepIn(seconds: number, from: Date = new Date()): Promise<void> {
  return sweepPaymentLinks(deps, new Date(from.getTime() + seconds * 1_000));
}

/** Deletes all jobs of this database. */
async function loseJobs(): Promise<void> {
  await query(database.em(), deleteJobs, []);
}

const deleteJobs = statement("sweep-test.lose-jobs", "delete from collections_jobs.job");

const moveToCase = statement(
  "sweep-test.move-to-case",
  "update payment_links.payment_link set case_id = $2, source_loan_number = $3 where id = $1",
);

describe("a sweep", () => {
  test("enqueues the job of a requested link again once it is overdue", async () => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    await loseJobs();
    await sweepIn(25, requested.createdAt);
    expect(await jobsWith(database, mintPaymentLinkQueue, requested.id)).toEqual([]);
    await sweepIn(35, requested.createdAt);
    const [job] = await jobsWith(database, mintPaymentLinkQueue, requested.id);
    await mintPaymentLink(deps, job!);
    expect(await link(requested)).toMatchObject({ status: "minted" });
    await loseJobs();
    await sweepIn(35);
    expect(await jobsWith(database, mintPaymentLinkQueue, requested.id)).toEqual([]);
  });

  test("makes a link unavailable if its mint call has no recorded answer, and does not repeat the call", async () => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    const started = new Date();
    await claimMint(database.em(), { ...requested, now: started });
    await loseJobs();
    const calls = twin.mints.length;
    await sweepIn(359, started);
    expect(await link(requested)).toMatchObject({ status: "requested" });
    await sweepIn(361, started);
    expect(await link(requested)).toMatchObject({ status: "unavailable", unavailableReason: "outcome_unknown" });
    expect(await jobsWith(database, mintPaymentLinkQueue, requested.id)).toEqual([]);
    expect(twin.mints).toHaveLength(calls);
  });

  test("applies held reports if the process that should have applied them died", async () => {
    const requested = await request((await visitedCase()).visitId);
    await mintPaymentLink(deps, { lenderId: requested.lenderId, linkId: requested.id });
    const [message] = await deliveriesOf(database.em(), [requested]);
    const { lenderId, id } = message!;
    const report = { providerMessageId: "wamid.early", status: "delivered" as const };
    const sent = { providerMessageId: "wamid.early" };
    const claim = { lenderId, id, now: new Date(), lostAfterMs: 60_000 };
    await transaction(database.em(), (tx) => claimDelivery(tx, claim));
    await recordMessageReports(deps, lenderId, [report, { ...report, providerMessageId: "wamid.of-somebody-else" }]);
    await transaction(database.em(), (tx) => recordDelivery(tx, { lenderId, id, status: "sent", ...sent }, new Date()));
    await sweepIn(0);
    expect((await deliveriesOf(database.em(), [requested]))[0]).toMatchObject({ id, status: "delivered" });
    expect(await heldReports(database.em(), lenderId, ["wamid.early"])).toEqual([]);
    expect(await heldReports(database.em(), lenderId, ["wamid.of-somebody-else"])).toHaveLength(1);
    await sweepIn(3_601);
    expect(await heldReports(database.em(), lenderId, ["wamid.of-somebody-else"])).toEqual([]);
  });

  test("logs a message whose reports cannot be applied, and applies the reports about other messages", async () => {
    const [broken, good] = [await aClaimedLink(), await aClaimedLink()];
    const held = ["wamid.broken", "wamid.good"].map((id) => ({ providerMessageId: id, status: "delivered" as const }));
    await transaction(database.em(), async (tx) => holdReports(tx, lender.id, held, new Date()));
    await recordFailed(broken, "wamid.broken");
    await recordFailed(good, "wamid.good");
    await query(database.em(), moveToCase, [broken.id, newId(), "LN-NOBODY-KNOWS"]);
    const warnings: object[] = [];
    const log = { info: () => {}, warn: (facts: object) => void warnings.push(facts) };
    await sweepPaymentLinks({ ...deps, log }, new Date());
    await query(database.em(), moveToCase, [broken.id, broken.caseId, broken.sourceLoanNumber]);
    expect(warnings).toEqual([{ lenderId: lender.id, messageId: "wamid.broken", error: expect.any(Error) }]);
    expect(await deliveriesOf(database.em(), [good])).toMatchObject([{ status: "delivered" }, {}]);
    await sweepIn(0);
    expect(await deliveriesOf(database.em(), [broken])).toMatchObject([{ status: "delivered" }, {}]);
  });

  /** Creates a link whose WhatsApp message is being sent. */
  async function aClaimedLink(): Promise<PaymentLink> {
    const requested = await request((await visitedCase()).visitId);
    await mintPaymentLink(deps, { lenderId: lender.id, linkId: requested.id });
    const [message] = await deliveriesOf(database.em(), [requested]);
    const claim = { lenderId: lender.id, id: message!.id, now: new Date(), lostAfterMs: 60_000 };
    await transaction(database.em(), (tx) => claimDelivery(tx, claim));
    return requested;
  }

  async function recordFailed(of: PaymentLink, providerMessageId: string): Promise<void> {
    const [message] = await deliveriesOf(database.em(), [of]);
    const report = { lenderId: lender.id, id: message!.id, providerMessageId };
    await transaction(database.em(), (tx) => recordDelivery(tx, { ...report, status: "failed" }, new Date()));
  }

  test("logs a link that cannot be made unavailable, and processes all others", async () => {
    const broken = await request((await visitedCase()).visitId);
    const lost = await request((await visitedCase()).visitId);
    const sent = await request((await visitedCase()).visitId);
    for (const { lenderId, id } of [broken, lost]) {
      await claimMint(database.em(), { lenderId, id, now: new Date() });
    }
    await mintPaymentLink(deps, { lenderId: sent.lenderId, linkId: sent.id });
    await loseJobs();
    await query(database.em(), moveToCase, [broken.id, newId(), "LN-NOBODY-KNOWS"]);
    const warnings: object[] = [];
    const log = { info: () => {}, warn: (facts: object) => void warnings.push(facts) };
    await sweepPaymentLinks({ ...deps, log }, new Date(Date.now() + 400_000));
    await query(database.em(), moveToCase, [broken.id, broken.caseId, broken.sourceLoanNumber]);
    expect(warnings).toEqual([{ lenderId: broken.lenderId, linkId: broken.id, error: expect.any(Error) }]);
    expect(await link(broken)).toMatchObject({ status: "requested" });
    expect(await link(lost)).toMatchObject({ status: "unavailable" });
    for (const { id } of await deliveriesOf(database.em(), [sent])) {
      expect(await jobsWith(database, sendPaymentLinkQueue, id)).toHaveLength(1);
    }
  });

  test("enqueues the jobs of queued messages again once they are overdue", async () => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    await mintPaymentLink(deps, { lenderId: requested.lenderId, linkId: requested.id });
    await loseJobs();
    const deliveries = await deliveriesOf(database.em(), [requested]);
    await sweepIn(110);
    for (const { id } of deliveries) expect(await jobsWith(database, sendPaymentLinkQueue, id)).toEqual([]);
    await sweepIn(130);
    for (const { id } of deliveries) expect(await jobsWith(database, sendPaymentLinkQueue, id)).toHaveLength(1);
  });
});
