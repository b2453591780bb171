import { describe, expect, test } from "vitest";
import { CHECKS } from "../src/index.ts";
import { ANSWERS, BODIES } from "./broken-answers.ts";
import { ABOUT_SIGNATURES, ABOUT_TIME } from "./broken-lender.ts";
import { ORDER } from "./broken-order.ts";
import { SIGNATURES } from "./broken-signatures.ts";
import { namesOf, runOn } from "./run-on.ts";
import { lenderWith, TestLender } from "./test-lender.ts";

const right = TestLender.prototype;

describe.each([
  ["signatures", SIGNATURES],
  ["order", ORDER],
  ["bodies", BODIES],
  ["answers", ANSWERS],
])("receivers with faults: %s", (_subject, variants) => {
  test.each(variants)(
    "the check $caughtBy catches a receiver that $fault",
    async ({ lender, caughtBy, and = [], run }) => {
      const results = await runOn(lender, { endpoint: "receiver", withState: false, stateLagMs: 100, ...run });
      const failing = [caughtBy, ...and].map((name) => `receiver.${name}`);
      expect(namesOf(results, "FAIL").toSorted()).toEqual(failing.toSorted());
      for (const { findings } of results) {
        for (const { problem, mend } of findings) expect([problem, mend]).toEqual([SENTENCE, SENTENCE]);
      }
    },
  );
});

test.each([400, 403])(
  "a receiver that rejects forged requests with %s instead of 401 gets warnings",
  async (status) => {
    const lender = lenderWith({
      receive(request) {
        return this.isGenuine(request) ? right.receive.call(this, request) : [status];
      },
    });
    const results = await runOn(lender, { endpoint: "receiver", withState: false });
    const refusals = [...ABOUT_SIGNATURES, ...ABOUT_TIME].map((name) => `receiver.${name}`);
    expect([namesOf(results, "FAIL"), namesOf(results, "WARN").toSorted()]).toEqual([[], refusals.toSorted()]);
  },
);

test("reports a server's clock that is far off", async () => {
  const lender = lenderWith({
    receive: () => [401, undefined, { Date: new Date(Date.now() - 3_600_000).toUTCString() }],
  });
  const [{ findings } = { findings: [] }] = await runOn(lender, { endpoint: "receiver" });
  expect(findings[0]?.mend).toMatch(/^Your server's clock is 60 minutes behind this machine's/);
});

test("every check of receivers catches at least one fault", () => {
  const variants = [...SIGNATURES, ...ORDER, ...BODIES, ...ANSWERS];
  const caught = new Set(variants.map(({ caughtBy }) => `receiver.${caughtBy}`));
  const names = CHECKS.map(({ name }) => name).filter((name) => name.startsWith("receiver."));
  // The checks about reading the case are tested in right-lenders.test.ts.
  expect(names.filter((name) => !caught.has(name))).toEqual(["receiver.gap-healed"]);
});

const SENTENCE = expect.stringMatching(/^[A-Z0-9“].{10,400}\.$/su) as string;
