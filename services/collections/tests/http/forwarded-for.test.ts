import { describe, expect, test } from "vitest";
import { hopsOf } from "../../src/http/forwarded-for.ts";
import { aLender, startTestService } from "../fixtures/fixture.ts";

describe("hopsOf reads", () => {
  test.each([
    ["203.0.113.7:51234", "203.0.113.7"],
    ["203.0.113.7", "203.0.113.7"],
    ["[2001:db8::1]:51234, 10.0.0.1:80", "2001:db8::1, 10.0.0.1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
    ["unknown,203.0.113.7:1", "unknown, 203.0.113.7"],
    ["203.0.113.7:", "203.0.113.7:"],
    ["", ""],
  ])("X-Forwarded-For: %s", (text, hops) => {
    expect(hopsOf(text, "x-forwarded-for")).toBe(hops);
  });

  test.each([
    ["for=203.0.113.7", "203.0.113.7"],
    ["For=203.0.113.7;proto=https;by=10.0.0.1, for=10.0.0.2", "203.0.113.7, 10.0.0.2"],
    ['for="[2001:db8::1]:4711"', "2001:db8::1"],
    ['proto=http; for="203.0.113.7:80"', "203.0.113.7"],
    ['for="a, for=203.0.113.9", for=203.0.113.7', "a, for=203.0.113.9, 203.0.113.7"],
    ["for=_hidden, for=unknown", "_hidden, unknown"],
    ["proto=https", ""],
  ])("Forwarded: %s", (text, hops) => {
    expect(hopsOf(text, "forwarded")).toBe(hops);
  });
});

describe("the limit on failed authentications behind a trusted proxy", () => {
  const LIMITED = { RATE_LIMITS: "failed-authentication=2", TRUST_PROXY: "loopback" };

  async function statuses(settings: Record<string, string>, name: string, values: string[]): Promise<number[]> {
    const lender = await aLender(await startTestService({ hasWorker: false, settings }));
    const answers: number[] = [];
    for (const value of values) {
      const headers = { [name]: value };
      answers.push((await lender.call("GET", "/api/v1/partner/health", "", { signature: "00", headers })).status);
    }
    return answers;
  }

  test("tells clients apart whose hops have ports", async () => {
    const hops = ["203.0.113.1:1001", "203.0.113.1:1002", "203.0.113.1:1003", "203.0.113.2:1001", "[2001:db8::1]:1"];
    expect(await statuses(LIMITED, "X-Forwarded-For", hops)).toEqual([401, 401, 429, 401, 401]);
  });

  test("reads `Forwarded` alone if PROXY_HEADER says so", async () => {
    const settings = { ...LIMITED, PROXY_HEADER: "forwarded" };
    const hops = [1, 1, 1, 2].map((client) => `for="203.0.113.${client}:4711";proto=https`);
    expect(await statuses(settings, "Forwarded", hops)).toEqual([401, 401, 429, 401]);
    const claimed = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
    expect(await statuses(settings, "X-Forwarded-For", claimed)).toEqual([401, 401, 429]);
  });
});
