import { newId } from "@collections/database";
import { expect, test } from "vitest";
import { addressOf, addressOfNamed, mayBeNamed } from "./address.ts";
import { checkTopics, InvalidEndpointError } from "./endpoint-input.ts";
import { contains } from "./subscription.ts";

const TENANT = "019aa3bb-7d88-7e55-a0b1-c2d3e4f50617";

test("the address of a named endpoint is the same UUID of version 8 in every process and release", () => {
  expect(addressOfNamed(TENANT, "crm")).toBe("802d74b6-5888-8302-9c6e-e35a2111ef3f");
  expect(addressOfNamed(TENANT.toUpperCase(), "crm")).toBe(addressOfNamed(TENANT, "crm"));
  expect(mayBeNamed(addressOfNamed(TENANT, "crm"))).toBe(true);
  expect(addressOfNamed(TENANT, "erp")).not.toBe(addressOfNamed(TENANT, "crm"));
  expect(addressOfNamed(newId(), "crm")).not.toBe(addressOfNamed(TENANT, "crm"));
});

test("the address of an unnamed endpoint is the tenant's id", () => {
  for (const ref of [TENANT, { tenantId: TENANT }, { tenantId: TENANT, endpoint: null }]) {
    expect(addressOf(ref)).toBe(TENANT);
  }
  expect(addressOf({ tenantId: TENANT, endpoint: "crm" })).toBe(addressOfNamed(TENANT, "crm"));
  expect(mayBeNamed(newId())).toBe(false);
});

test.each([
  ["NAME_INVALID", { tenantId: TENANT, endpoint: "CRM" }],
  ["NAME_INVALID", { tenantId: TENANT, endpoint: "" }],
  ["NAME_INVALID", { tenantId: TENANT, endpoint: "a".repeat(61) }],
  ["TENANT_ID_INVALID", { tenantId: "acme", endpoint: "crm" }],
])("a reference to an endpoint is rejected with %s: %o", (code, ref) => {
  expect(() => addressOf(ref)).toThrow(expect.objectContaining({ name: "InvalidEndpointError", code }));
});

test.each([
  [["*"], "invoice.paid", true],
  [["invoice.paid"], "invoice.paid", true],
  [["invoice.paid"], "invoice.paid.late", false],
  [["invoice.*"], "invoice.paid", true],
  [["invoice.*"], "invoice.paid.late", true],
  [["invoice.*"], "invoice", false],
  [["invoice.*"], "invoices.paid", false],
  [["payment.received", "invoice.*"], "invoice.paid", true],
  [["payment.received"], "invoice.paid", false],
])("the topics %o contain the kind %s: %s", (topics, kind, expected) => {
  expect(contains(topics, kind)).toBe(expected);
});

test.each([
  [[]],
  ["invoice.*"],
  [["invoice*"]],
  [["*.paid"]],
  [["invoice.*.late"]],
  [[""]],
  [["invoice paid"]],
  [["a".repeat(101)]],
  [[7]],
  [Array.from({ length: 101 }, (_, index) => `kind.${index}`)],
])("topics are rejected: %o", (topics) => {
  expect(() => checkTopics(topics)).toThrow(InvalidEndpointError);
});
