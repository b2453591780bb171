import { describe, expect, test } from "vitest";
import { sign, distrustReason, type ReceivedRequest } from "./signer.ts";

const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
const TIMESTAMP = "1795167667000";
const NOW_MS = Number(TIMESTAMP);

describe("the lender's own signer computes the published signatures", () => {
  test.each([
    ["GET", "/api/v1/partner/health", "", "bd00db74ca43bdb980b5b174a9d9e4147b2c959ced8a1bea6696d023f483d70b"],
    [
      "POST",
      "/api/v1/partner/cases/LN-1001/payments/confirm",
      '{"amount":2500,"reference":"pay_Nx81","paidAt":"2026-11-20T09:40:55Z","mode":"upi","linkId":"plink_77"}',
      "37d61778d0ac507dd22552f54d56e74e6b530851beddb29b3322fc33ab91b41f",
    ],
    [
      "GET",
      "/api/v1/partner/cases/MUM%2F2023%2F00123",
      "",
      "ec8f123e3ed68cb9d33b9ade348c4b8409d87f8fbcc4662aa15812fa51d5acff",
    ],
    [
      "POST",
      "/hooks/collections",
      '{"eventId":"evt_test","kind":"ping"}',
      "e4c5e25aa8dc86784a4d95fa8ec9fc121fe0ed46862902a365afc0ed4db9e937",
    ],
  ])("%s %s", (method, path, body, signature) => {
    expect(sign(SECRET, { method, path, timestamp: TIMESTAMP, body })).toBe(signature);
  });
});

describe("a request from the service", () => {
  const secrets = new Map([["lk_1", SECRET]]);

  test("is trusted with a valid signature, in upper or lower case, until it is five minutes old", () => {
    expect(distrustReason(ping({}), secrets, NOW_MS)).toBeNull();
    expect(distrustReason(ping({ "x-service-signature": pingSignature().toUpperCase() }), secrets, NOW_MS)).toBeNull();
    expect(distrustReason(ping({}), secrets, NOW_MS + 300_000)).toBeNull();
    expect(distrustReason(ping({}), secrets, NOW_MS - 300_000)).toBeNull();
  });

  test("is rejected if its timestamp differs by more than five minutes", () => {
    expect(distrustReason(ping({}), secrets, NOW_MS + 300_001)).toContain("300001 ms old");
    expect(distrustReason(ping({}), secrets, NOW_MS - 300_001)).toContain("-300001 ms old");
  });

  test.each([
    [{ "x-service-signature": undefined }, "timestamp or signature is missing"],
    [{ "x-service-timestamp": undefined }, "timestamp or signature is missing"],
    [{ "x-service-timestamp": "1795167667" }, "not in Unix milliseconds"],
    [{ "x-service-signature": "abc" }, "not 64 hex digits"],
    [{ "x-service-signature": "0".repeat(64) }, "does not match"],
    [{ "x-service-timestamp": "1795167667001" }, "does not match"],
    [{ "x-service-key-id": "lk_2" }, "does not match"],
  ])("is rejected with %j", (headers, reason) => {
    expect(distrustReason(ping(headers), secrets, NOW_MS)).toContain(reason);
  });

  test("is verified with the secret of its key id, and with every secret if it has no key id", () => {
    const rotated = new Map([["lk_2", "sk_sandbox_newer"], ...secrets]);
    expect(distrustReason(ping({}), rotated, NOW_MS)).toBeNull();
    expect(distrustReason(ping({ "x-service-key-id": "lk_1" }), rotated, NOW_MS)).toBeNull();
    expect(distrustReason(ping({ "x-service-key-id": "lk_2" }), rotated, NOW_MS)).toContain("does not match");
  });
});

function pingSignature(): string {
  const body = '{"eventId":"evt_test","kind":"ping"}';
  return sign(SECRET, { method: "POST", path: "/hooks/collections", timestamp: TIMESTAMP, body });
}

function ping(headers: Record<string, string | undefined>): ReceivedRequest {
  return {
    method: "POST",
    path: "/hooks/collections",
    headers: { "x-service-timestamp": TIMESTAMP, "x-service-signature": pingSignature(), ...headers },
    rawBody: Buffer.from('{"eventId":"evt_test","kind":"ping"}'),
  };
}
