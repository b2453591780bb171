import { describe, expect, test } from "vitest";
import { type DeliveryStatus, isNews, isUndelivered, type ReportedStatus, suppressionOf } from "../index.ts";

describe("isNews", () => {
  test.each<[(DeliveryStatus | "unknown")[], DeliveryStatus]>([
    [["sent", "delivered", "read"], "read"],
    [["read", "sent", "delivered"], "read"],
    [["delivered", "failed"], "delivered"],
    [["failed", "delivered"], "delivered"],
    [["sent", "failed"], "failed"],
    [["failed", "sent"], "failed"],
    [["suppressed"], "suppressed"],
    [["unknown"], "failed"],
    [["unknown", "sent"], "sent"],
    [["sent", "unknown"], "sent"],
    [["unknown", "failed"], "failed"],
    [["suppressed", "unknown"], "failed"],
  ])("the reports %j give a delivery the status %s", (reports, best) => {
    const reported = reports.map((report): ReportedStatus =>
      report === "unknown" ? { status: "failed", failureCode: "OUTCOME_UNKNOWN" } : { status: report },
    );
    const kept = reported.reduce((known, report) => (isNews(known, report) ? report : known), { status: "queued" });
    expect(kept.status).toBe(best);
  });
});

test.each<[DeliveryStatus[], boolean]>([
  [[], false],
  [["queued"], false],
  [["failed"], true],
  [["suppressed", "suppressed"], true],
  [["failed", "suppressed"], true],
  [["failed", "queued"], false],
  [["failed", "sent"], false],
])("isUndelivered for a link with deliveries %j is %s", (statuses, expected) => {
  expect(isUndelivered(statuses.map((status) => ({ status })))).toBe(expected);
});

describe("suppressionOf", () => {
  const allowed = { hasAddress: true, isConfigured: true };
  test.each([
    ["the borrower's consent is absent", allowed, undefined],
    ["the borrower agreed", { ...allowed, consent: true }, undefined],
    ["the borrower's consent is null", { ...allowed, consent: null }, undefined],
    ["the borrower refused", { ...allowed, consent: false }, "CONSENT_REFUSED"],
    ["there is no address", { ...allowed, hasAddress: false }, "NO_ADDRESS"],
    ["the channel is not set up", { ...allowed, isConfigured: false }, "NOT_CONFIGURED"],
    ["all three reasons apply", { consent: false, hasAddress: false, isConfigured: false }, "CONSENT_REFUSED"],
  ])("returns the expected reason, or undefined if the message may be sent: %s", (_when, facts, expected) => {
    expect(suppressionOf(facts)).toBe(expected);
  });
});
