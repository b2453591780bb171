import { expect, test } from "vitest";
import { exampleCase } from "../../tests/example-case.ts";
import type { ImportedCase } from "../case/locked-case.ts";
import { blockedReason } from "./workable.ts";

const NOW = new Date("2026-11-20T10:00:00Z");
const assigned = { status: "assigned", assignedFieldPartnerId: "0193bf7c-0000-7000-8000-00000000000a" } as const;

test.each([
  ["without a field partner", {}, "NOT_ASSIGNED"],
  ["that is assigned", assigned, undefined],
  ["with doNotContactUntil in the future", { ...assigned, doNotContactUntil: "2026-11-21" }, "DO_NOT_CONTACT"],
  ["with doNotContactUntil today", { ...assigned, doNotContactUntil: "2026-11-20" }, undefined],
  ["on hold", { ...assigned, status: "on_hold", fieldWork: "blocked" }, "ON_HOLD"],
  ["that has ended", { ...assigned, status: "withdrawn", fieldWork: "blocked", closedAt: NOW }, "ENDED"],
] as const)("the blockedReason of a case %s is %s", (_, fields, reason) => {
  expect(blockedReason(exampleCase(fields as Partial<ImportedCase>), "2026-11-20")).toBe(reason);
});
