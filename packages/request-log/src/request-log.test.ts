import { newId } from "@collections/database";
import { expect, test } from "vitest";
import { type AnsweredRequest, createRequestLog } from "./request-log.ts";

const LENDER = newId();
const NOON = new Date("2026-11-20T12:00:00Z");

function aRequest(given: Partial<AnsweredRequest> = {}): AnsweredRequest {
  return {
    id: newId(),
    lenderId: LENDER,
    receivedAt: NOON,
    keyId: "lk_1",
    isSigned: true,
    method: "GET",
    path: "/api/v1/partner/health",
    endpoint: "health",
    status: 200,
    code: null,
    durationMs: 3,
    ...given,
  };
}

const unsigned = { lenderId: undefined, isSigned: false, status: 401, code: "BAD_SIGNATURE" };

function noted(requests: readonly AnsweredRequest[]): { readonly kept: number; readonly leftOut: number } {
  const log = createRequestLog();
  for (const request of requests) log.note(request);
  const { requests: kept, leftOut } = log.take();
  return { kept: kept.length, leftOut };
}

const many = (count: number, given: (index: number) => Partial<AnsweredRequest>) =>
  Array.from({ length: count }, (_, index) => aRequest(given(index)));

test.each([
  ["successful requests of a key", many(150, () => ({})), 100],
  ["failed requests beside successful ones", many(300, (index) => ({ status: index % 2 === 0 ? 200 : 422 })), 200],
  ["requests of many keys", many(6_000, (index) => ({ keyId: `lk_${index}` })), 5_000],
  ["unsigned requests of a key", many(100, () => unsigned), 60],
  ["unsigned requests of many keys", many(2_000, (index) => ({ ...unsigned, keyId: `lk_${index}` })), 500],
  ["a key id that is too long", [aRequest({ keyId: "x".repeat(101) })], 0],
])("limits %s", (_, requests, kept) => {
  expect(noted(requests)).toEqual({ kept, leftOut: requests.length - kept });
});

test("counts unsigned requests of a key by the minute", () => {
  const log = createRequestLog();
  const keptOf = (requests: readonly AnsweredRequest[]) => {
    for (const request of requests) log.note(request);
    return log.take().requests.length;
  };
  expect(keptOf(many(60, () => unsigned))).toBe(60);
  expect(keptOf(many(60, () => unsigned))).toBe(0);
  const receivedAt = new Date(NOON.getTime() + 60_000);
  expect(keptOf(many(70, () => ({ ...unsigned, receivedAt })))).toBe(60);
});

test("cuts a long path", () => {
  const log = createRequestLog();
  log.note(aRequest({ path: `/${"a".repeat(5_000)}` }));
  expect(log.take().requests[0]!.path).toHaveLength(300);
});
