import { expect, test } from "vitest";
import type { CheckResult } from "../checks/check.ts";
import { reportAsJunit } from "./report-junit.ts";

function result(name: string, details: Partial<CheckResult>): CheckResult {
  const usual = {
    verdict: "PASS",
    sent: "a ping",
    cameBack: "200",
    findings: [],
    skipped: null,
    durationMs: 12,
  } as const;
  return { name, title: "A promise", why: "It matters.", ...usual, ...details };
}

test("the JUnit report has an element for each verdict, with the text of answers escaped", () => {
  const problem = 'Answered “<b>&"\u0000\u{1F600}\uD800\n</b>”.';
  const xml = reportAsJunit({
    startedAt: new Date(0),
    durationMs: 24,
    urls: {},
    results: [
      result("receiver.ping", {}),
      result("receiver.event", { verdict: "FAIL", findings: [{ level: "FAIL", problem, mend: "Mend it." }] }),
      result("receiver.gap", { verdict: "SKIPPED", skipped: "says nothing" }),
      result("mint.link", { verdict: "WARN", findings: [{ level: "WARN", problem: "Odd.", mend: "Even it." }] }),
    ],
  });
  expect(xml).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="conformance" tests="4" failures="1" errors="0" skipped="1" time="0.048">
  <testsuite name="receiver" timestamp="1970-01-01T00:00:00.000Z" tests="3" failures="1" errors="0" skipped="1" time="0.036">
    <testcase classname="receiver" name="ping: A promise" time="0.012"></testcase>
    <testcase classname="receiver" name="event: A promise" time="0.012"><failure message="Answered “&lt;b&gt;&amp;&quot;\u{1F600}\uFFFD&#10;&lt;/b&gt;”." type="receiver.event">Sent: a ping&#10;Came back: 200&#10;Problem: Answered “&lt;b&gt;&amp;&quot;\u{1F600}\uFFFD&#10;&lt;/b&gt;”.&#10;Fix: Mend it.&#10;Why: It matters.</failure></testcase>
    <testcase classname="receiver" name="gap: A promise" time="0.012"><skipped message="says nothing"/></testcase>
  </testsuite>
  <testsuite name="mint" timestamp="1970-01-01T00:00:00.000Z" tests="1" failures="0" errors="0" skipped="0" time="0.012">
    <testcase classname="mint" name="link: A promise" time="0.012"><system-out>Sent: a ping&#10;Came back: 200&#10;Problem: Odd.&#10;Fix: Even it.&#10;Why: It matters.</system-out></testcase>
  </testsuite>
</testsuites>
`);
});
