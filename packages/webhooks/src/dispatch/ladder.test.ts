import { describe, expect, test } from "vitest";
import { DEFAULT_LADDER, InvalidLadderError, parseLadder, waitAfter } from "./ladder.ts";
import { retryAfterMs } from "./retry-after.ts";

const failedAt = new Date("2026-11-20T09:00:00Z");
const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const middle = () => 0.5;

describe("the contract's ladder", () => {
  const ladder = parseLadder(DEFAULT_LADDER);

  test("has seven attempts", () => {
    expect(ladder).toEqual([0, 30 * second, 2 * minute, 10 * minute, hour, 6 * hour, 24 * hour]);
  });

  test.each([
    [1, 30 * second],
    [2, 2 * minute],
    [3, 10 * minute],
    [4, hour],
    [5, 6 * hour],
    [6, 24 * hour],
  ])("after failed attempt %i, waits %i ms", (attempts, waitMs) => {
    expect(waitAfter(ladder, { attempts }, middle)).toBe(waitMs);
  });

  test("parks the delivery after the seventh failure, whatever Retry-After says", () => {
    expect(waitAfter(ladder, { attempts: 7, retryAfterMs: minute }, middle)).toBe("park");
  });

  test.each([
    [1, 0, 30 * second],
    [1, 0.999_999, 30 * second],
    [2, 0, 1.8 * minute],
    [2, 1, 2.2 * minute],
    [6, 0, 21.6 * hour],
    [6, 1, 26.4 * hour],
  ])(
    "varies the wait by 10 % from the third attempt on: after failure %i with random %d",
    (attempts, random, waitMs) => {
      expect(waitAfter(ladder, { attempts }, () => random)).toBe(waitMs);
    },
  );

  test.each([
    ["uses a Retry-After that is longer than the ladder's step", 1, 45 * second, 45 * second],
    ["ignores a Retry-After that is shorter than the ladder's step", 3, 45 * second, 10 * minute],
  ])("%s", (_, attempts, retryAfterMs, waitMs) => {
    expect(waitAfter(ladder, { attempts, retryAfterMs }, middle)).toBe(waitMs);
  });
});

describe("a configured ladder", () => {
  test("accepts steps in ms, s, m, h and d", () => {
    expect(parseLadder("0s, 100ms,2s,3m,4h,5d")).toEqual([0, 100, 2_000, 180_000, 14_400_000, 432_000_000]);
  });

  test("may have a single attempt", () => {
    expect(waitAfter(parseLadder("0s"), { attempts: 1 }, middle)).toBe("park");
  });

  test.each(["", "0s,", "0s,30", "0s,1.5m", "0s,-1s", "0s,1w", "0s,9999999s"])("is rejected if it is %j", (text) => {
    expect(() => parseLadder(text)).toThrow(InvalidLadderError);
  });

  test("is rejected if the first step is not 0", () => {
    expect(() => parseLadder("30s,2m")).toThrow(/begin with 0s/);
  });
});

describe("retryAfterMs", () => {
  test.each([
    ["90", 90 * second],
    [" 90 ", 90 * second],
    ["7200", hour],
    ["9".repeat(400), hour],
    ["Fri, 20 Nov 2026 09:00:30 GMT", 30 * second],
    ["Friday, 20-Nov-26 09:00:30 GMT", 30 * second],
    ["Sat, 21 Nov 2026 09:00:00 GMT", hour],
  ])("reads the Retry-After header %j as a wait of %i ms", (header, waitMs) => {
    expect(retryAfterMs({ "retry-after": header }, failedAt)).toBe(waitMs);
  });

  test("compares a date with the Date of the answer, because both are times of the receiver's clock", () => {
    const date = "Fri, 20 Nov 2026 07:00:00 GMT";
    const headers = { "retry-after": "Fri, 20 Nov 2026 07:00:30 GMT", date };
    expect(retryAfterMs(headers, failedAt)).toBe(30 * second);
    expect(retryAfterMs({ ...headers, "retry-after": date }, failedAt)).toBeUndefined();
    expect(retryAfterMs({ "retry-after": "Fri, 20 Nov 2026 09:00:30 GMT", date: "soon" }, failedAt)).toBe(30 * second);
  });

  test.each([undefined, "", "0", "-5", "1.5", "soon", "2026-11-20T10:00:00Z", "Fri, 20 Nov 2026 08:59:00 GMT"])(
    "ignores the Retry-After header %j",
    (header) => {
      expect(retryAfterMs(header === undefined ? {} : { "retry-after": header }, failedAt)).toBeUndefined();
    },
  );
});
