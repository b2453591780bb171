import { claimMint, deliveriesOf, type PaymentLink } from "@collections/payment-links";
import { afterEach, describe, expect, test } from "vitest";
import { cuttableWire } from "../../tests/cuttable-wire.ts";
import {
  aConfirmation,
  currentCase,
  ENVIRONMENT,
  eventsOfLoan,
  flowsDatabaseUrl,
  openDatabase,
} from "../../tests/fixture.ts";
import { linkStage } from "../../tests/link-stage.ts";
import { confirmPayments } from "../payment/confirm-payments.ts";
import type { LinkDeps } from "./link-jobs.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import { recordMint, settleLostMint } from "./record-mint.ts";
import { sweepPaymentLinks } from "./sweep-payment-links.ts";

const url = await flowsDatabaseUrl();
const database = await openDatabase(url);
const { deps, lender, twin, visitedCase, request, link } = await linkStage(database);
afterEach(() => {
  twin.mintBehaviour = "ok";
});

function mint(requested: PaymentLink, changes: Partial<LinkDeps> = {}): Promise<void> {
  return mintPaymentLink({ ...deps, ...changes }, { lenderId: requested.lenderId, linkId: requested.id });
}

/** Simulates a worker that claims the call and dies before it makes the call. */
function dieAfterClaim({ lenderId, id }: PaymentLink, now: Date) {
  return claimMint(database.em(), { lenderId, id, now });
}

describe("the answer to a mint call", () => {
  test("is recorded once, even if recordMint is called repeatedly", async () => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    const answer = { minted: { linkId: "plink_77", url: "https://pay.example.com/77" } };
    await dieAfterClaim(requested, new Date());
    await Promise.all([recordMint(deps, requested, answer), recordMint(deps, requested, answer)]);
    await recordMint(deps, requested, { unavailable: "outcome_unknown", detail: "Too late." });
    expect(await link(requested)).toMatchObject({ status: "minted", linkId: "plink_77", unavailableReason: null });
    expect(await eventsOfLoan(database, theCase)).toHaveLength(4);
    expect(await deliveriesOf(database.em(), [requested])).toHaveLength(2);
  });

  test("makes the link paid at once if a payment by this link was confirmed before the answer", async () => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    const answer = { minted: { linkId: "plink_early", url: "https://pay.example.com/early" } };
    await dieAfterClaim(requested, new Date());
    const paidAt = new Date("2026-11-20T09:40:55Z");
    const payment = aConfirmation(lender, theCase, { linkId: "plink_early", paidAt });
    expect(await confirmPayments(database.em(), [payment], ENVIRONMENT)).toMatchObject([{ kind: "booked" }]);
    await recordMint(deps, requested, answer);
    expect(await link(requested)).toMatchObject({ status: "paid", paidAt, linkId: "plink_early" });
    expect(await deliveriesOf(database.em(), [requested])).toEqual([]);
  });

  test("is recorded although the database is unavailable when the lender answers", async () => {
    const wire = await cuttableWire(new URL(url));
    const behindWire = await openDatabase(wire.url);
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    twin.mintBehaviour = "held";
    const calls = twin.mints.length;
    const minting = mint(requested, { database: behindWire });
    await twin.waitFor(() => twin.mints.length > calls);
    wire.cut();
    twin.answerHeldMints();
    await wire.refused();
    wire.mend();
    await minting;
    wire.close();
    expect(await link(requested)).toMatchObject({ status: "minted", linkId: twin.mints.at(-1)!.linkId });
    expect((await currentCase(database, lender, theCase.sourceLoanNumber)).sequence).toBe(4n);
  });
});

describe("a mint call of a worker that died after the claim", () => {
  test("is recorded as outcome_unknown one minute after its time limit, and is not repeated", async () => {
    const { theCase, visitId } = await visitedCase();
    const requested = await request(visitId);
    const started = new Date();
    await dieAfterClaim(requested, started);
    const calls = twin.mints.length;

    await mint(requested);
    const claimed = await link(requested);
    expect(claimed).toMatchObject({ status: "requested", mintStartedAt: started });

    await settleLostMint(deps, claimed, new Date(started.getTime() + 60_000));
    expect(await link(requested)).toMatchObject({ status: "requested" });
    await settleLostMint(deps, claimed, new Date(started.getTime() + 60_000 + deps.mintTimeoutMs));
    expect(await link(requested)).toMatchObject({ status: "unavailable", unavailableReason: "outcome_unknown" });
    expect(twin.mints).toHaveLength(calls);
    expect((await eventsOfLoan(database, theCase)).at(-1)).toMatchObject({
      kind: "payment_link.unavailable",
      data: { reason: "outcome_unknown" },
    });
  });

  test("is not repeated by a retry of the job, and a sweep makes the link unavailable", async () => {
    const { visitId } = await visitedCase();
    const requested = await request(visitId);
    await dieAfterClaim(requested, new Date());
    const calls = twin.mints.length;
    await mint(requested);
    expect(await link(requested)).toMatchObject({ status: "requested" });
    await sweepPaymentLinks(deps, new Date(Date.now() + 400_000));
    await mint(requested);
    expect(await link(requested)).toMatchObject({ status: "unavailable", unavailableReason: "outcome_unknown" });
    expect(twin.mints).toHaveLength(calls);
  });
});
