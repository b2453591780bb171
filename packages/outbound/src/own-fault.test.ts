import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { answer, openOrigin } from "../tests/scripted-origin.ts";
import { createOutbound } from "./outbound.ts";
import { type OwnFault, OwnFaultWatch } from "./own-fault.ts";

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

function aWatch() {
  const reported: [what: string, reason: string][] = [];
  const watch = new OwnFaultWatch({
    onFault: ({ reason }) => reported.push(["fault", reason]),
    onEnd: ({ reason }) => reported.push(["end", reason]),
  });
  return { watch, reported };
}

test("a fault that lasts a minute is reported once, and its end once", () => {
  const { watch, reported } = aWatch();
  watch.failed("dns", "ECONNREFUSED");
  vi.advanceTimersByTime(MINUTE_MS - 1);
  watch.failed("dns", "ECONNREFUSED");
  expect(reported).toEqual([]);
  vi.advanceTimersByTime(1);
  watch.failed("dns", "ETIMEOUT");
  watch.failed("dns", "ETIMEOUT");
  expect(reported).toEqual([["fault", "OWN_DNS_FAILED"]]);
  expect(watch.current()).toMatchObject([{ systemCode: "ETIMEOUT", lastingMs: MINUTE_MS }]);
  watch.worked("network");
  expect(reported).toHaveLength(1);
  watch.worked("dns");
  watch.worked("dns");
  expect(reported).toEqual([
    ["fault", "OWN_DNS_FAILED"],
    ["end", "OWN_DNS_FAILED"],
  ]);
  expect(watch.current()).toEqual([]);
});

test("a fault begins again after something has worked", () => {
  const { watch, reported } = aWatch();
  for (let failures = 0; failures < 5; failures += 1) {
    watch.failed("network", "ENETUNREACH");
    watch.worked("network");
    vi.advanceTimersByTime(MINUTE_MS);
  }
  watch.failed("network", "ENETUNREACH");
  expect(watch.current()).toMatchObject([{ reason: "OWN_NETWORK_FAILED", lastingMs: 0 }]);
  expect(reported).toEqual([]);
});

test("a fault without further failures is forgotten after 15 minutes", () => {
  const { watch } = aWatch();
  watch.failed("dns", "ECONNREFUSED");
  vi.advanceTimersByTime(15 * MINUTE_MS);
  expect(watch.current()).toEqual([]);
  watch.failed("dns", "ECONNREFUSED");
  expect(watch.current()).toMatchObject([{ lastingMs: 0 }]);
});

test("a clock that jumps does not lengthen a fault", () => {
  const { watch } = aWatch();
  watch.failed("dns", "ECONNREFUSED");
  vi.setSystemTime(Date.now() + 10 * MINUTE_MS);
  watch.failed("dns", "ECONNREFUSED");
  expect(watch.current()).toMatchObject([{ lastingMs: 0 }]);
});

test("requests report faults of the resolver, and their end", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK", "", ["Connection: close"])));
  const reported: OwnFault[] = [];
  let isDown = true;
  const outbound = createOutbound({
    allow: "lender.test:*",
    resolve: async () => {
      if (isDown) throw Object.assign(new Error("queryA"), { code: "ECONNREFUSED" });
      return [{ address: "127.0.0.1", family: 4 }];
    },
    ownFaultAlarm: { afterMs: 0, onFault: (fault) => reported.push(fault), onEnd: (fault) => reported.push(fault) },
  });
  const request = { method: "POST" as const, url: `http://lender.test:${origin.port}`, timeoutMs: 300_000 };
  expect(await outbound.request(request)).toMatchObject({ kind: "failure", ownFault: true });
  expect(outbound.ownFaults()).toMatchObject([{ reason: "OWN_DNS_FAILED", systemCode: "ECONNREFUSED" }]);
  isDown = false;
  expect(await outbound.request(request)).toMatchObject({ kind: "answer" });
  expect(outbound.ownFaults()).toEqual([]);
  expect(reported).toHaveLength(2);
  await outbound.close();
});
