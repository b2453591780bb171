import { describe, expect, test } from "vitest";
import { type DeliveryStatus, isNews, isUndelivered, type StatusTold, suppressionOf } from "../index.ts";

describe("the best status of a delivery wins, in whatever order the reports arrive", () => {
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
  ])("%j makes it %s", (reports, best) => {
    const told = reports.map((report): StatusTold =>
      report === "unknown" ? { status: "failed", failureCode: "OUTCOME_UNKNOWN" } : { status: report },
    );
    const kept = told.reduce((known, report) => (isNews(known, report) ? report : known), { status: "queued" });
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
])("a link whose deliveries are %j is undelivered: %s", (statuses, expected) => {
  expect(isUndelivered(statuses.map((status) => ({ status })))).toBe(expected);
});

describe("a message is suppressed", () => {
  const allowed = { hasAddress: true, isConfigured: true };
  test.each([
    ["not without a refusal", allowed, undefined],
    ["not when the borrower agreed", { ...allowed, consent: true }, undefined],
    ["not when nobody knows", { ...allowed, consent: null }, undefined],
    ["when the borrower refused", { ...allowed, consent: false }, "CONSENT_REFUSED"],
    ["when there is no address", { ...allowed, hasAddress: false }, "NO_ADDRESS"],
    ["when the channel is not set up", { ...allowed, isConfigured: false }, "NOT_CONFIGURED"],
    ["for the refusal first", { consent: false, hasAddress: false, isConfigured: false }, "CONSENT_REFUSED"],
  ])("%s", (_when, facts, expected) => {
    expect(suppressionOf(facts)).toBe(expected);
  });
});
