import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import type { Options } from "./arguments.ts";
import type { Fault, Leg, Outcome } from "./fault.ts";
import { runFaults } from "./run-faults.ts";
import { exitCodeOf, reportText } from "./report.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-run-faults-"));
const stateFile = join(folder, "run.json");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const OUTCOME: Outcome = {
  counts: {
    strikes: 2,
    hits: 1,
    lostAnswers: 3,
    reversed: 5,
    killsTimed: 2,
    killsAmidCommit: 1,
    refused: 4,
    slowestRecoveryMs: 1_500,
  },
  sent: 1_200,
  acknowledged: 1_100,
  booked: 1_101,
  violations: [],
};
const LONG: Options = {
  faults: [],
  seed: 7,
  isQuick: false,
  rounds: undefined,
  atATime: 1,
  usesPooler: false,
  resumes: false,
  json: false,
};

/**
 * Returns a fault for tests, whose long run has three parts (legs). Each part calls `during`, which may change the
 * outcome of the part or throw.
 */
function aFault(name: string, during: (leg: Leg) => Partial<Outcome> = () => ({})): Fault & { legs: Leg[] } {
  const legs: Leg[] = [];
  return {
    name,
    sentence: "It breaks.",
    rounds: { quick: 1, long: 5, legs: 3 },
    legs,
    async run(leg) {
      legs.push(leg);
      return { ...OUTCOME, ...during(leg) };
    },
  };
}

const silently = () => {};

test("a run with the same seed gives each of its legs the same seed again", async () => {
  const [first, second] = [aFault("one"), aFault("one")];
  const report = await runFaults({ ...LONG, faults: [first] }, stateFile, silently);
  await runFaults({ ...LONG, faults: [aFault("another"), second] }, stateFile, silently);
  expect(first.legs.map(({ rounds }) => rounds)).toEqual([5, 5, 5]);
  expect(new Set(first.legs.map(({ seed }) => seed)).size).toBe(3);
  expect(second.legs.map(({ seed }) => seed)).toEqual(first.legs.map(({ seed }) => seed));
  expect(report.faults[0]).toMatchObject({ legs: 3, booked: 3_303, counts: { strikes: 6, slowestRecoveryMs: 1_500 } });
  expect(exitCodeOf(report)).toBe(0);
  expect(existsSync(stateFile)).toBe(false);
});

test("a run with --quick or --rounds has only one leg", async () => {
  const quick = aFault("one");
  await runFaults({ ...LONG, faults: [quick], isQuick: true }, stateFile, silently);
  expect(quick.legs.map(({ rounds }) => rounds)).toEqual([1]);
  const single = aFault("one");
  await runFaults({ ...LONG, faults: [single], rounds: 9 }, stateFile, silently);
  expect(single.legs.map(({ rounds }) => rounds)).toEqual([9]);
});

test("--resume continues an interrupted run at its next leg, with its seed", async () => {
  const whole = aFault("one");
  await runFaults({ ...LONG, faults: [whole] }, stateFile, silently);
  const interrupted = aFault("one");
  const log = (message: string) => {
    if (message.includes("leg 3")) throw new Error("interrupted");
  };
  await expect(runFaults({ ...LONG, faults: [interrupted] }, stateFile, log)).rejects.toThrow("interrupted");
  const resumed = aFault("one");
  const report = await runFaults({ ...LONG, seed: 99, faults: [resumed], resumes: true }, stateFile, silently);
  expect(report).toMatchObject({ seed: 7, faults: [{ legs: 3, booked: 3_303 }] });
  expect(resumed.legs.map(({ seed }) => seed)).toEqual(whole.legs.slice(2).map(({ seed }) => seed));
});

test("--resume refuses a run that began without the pooler", async () => {
  const log = (message: string) => {
    if (message.includes("leg 2")) throw new Error("interrupted");
  };
  await expect(runFaults({ ...LONG, faults: [aFault("one")] }, stateFile, log)).rejects.toThrow("interrupted");
  const resumed = { ...LONG, faults: [aFault("one")], resumes: true };
  const refused = "The interrupted run was without --pooler: resume it the same way.";
  await expect(runFaults({ ...resumed, usesPooler: true }, stateFile, silently)).rejects.toThrow(refused);
  await runFaults(resumed, stateFile, silently);
});

test("a fault with isAlone runs after the faults that run in parallel", async () => {
  const underWay = new Set<string>();
  const met: Record<string, string[]> = {};
  const named = (name: string): Fault => ({
    ...aFault(name),
    async run() {
      met[name] = [...underWay];
      underWay.add(name);
      await pause(20);
      underWay.delete(name);
      return OUTCOME;
    },
  });
  const faults = [{ ...named("alone"), isAlone: true } as const, named("one"), named("two")];
  const report = await runFaults({ ...LONG, faults, isQuick: true, atATime: 3 }, stateFile, silently);
  expect(met).toEqual({ one: [], two: ["one"], alone: [] });
  expect(report.faults.map(({ name }) => name)).toEqual(["alone", "one", "two"]);
});

test("the report says how many kills hit a commit in progress", async () => {
  const never = aFault("never", () => ({ counts: { ...OUTCOME.counts, killsTimed: 0, killsAmidCommit: 0 } }));
  const report = await runFaults({ ...LONG, faults: [aFault("timed"), never] }, stateFile, silently);
  expect(reportText(report)).toContain("Kills that hit a commit in progress:\n  timed: 3 of 6");
  expect(reportText(report)).not.toContain("never: 0");
});

test("the report lists the measures of a load that must stay flat", async () => {
  const flatness = [{ measure: "server open files", first: 40, last: 90, most: 52, isFlat: false }];
  const soak = { capacityPerS: 300, pacePerS: 150, flatness, samples: [] };
  const report = await runFaults(
    { ...LONG, faults: [aFault("load", () => ({ soak }))], isQuick: true },
    stateFile,
    silently,
  );
  expect(report.faults[0]).toMatchObject({ soak });
  expect(reportText(report)).toMatch(/^server open files +40\.0 +90\.0 +52\.0 +NO$/m);
});

test("a run with a violated invariant or a leg that throws ends with exit code 1", async () => {
  const violated = aFault("one", () => ({ violations: [{ invariant: "money is kept", detail: "some is lost" }] }));
  const broken = aFault("two", () => {
    throw new Error("no PostgreSQL");
  });
  const whole = aFault("three");
  const report = await runFaults({ ...LONG, faults: [violated, broken, whole], isQuick: true }, stateFile, silently);
  expect(exitCodeOf(report)).toBe(1);
  expect(reportText(report)).toContain("one: money is kept: some is lost");
  expect(reportText(report)).toContain("two: the leg runs to its end: Error: no PostgreSQL");
  expect(reportText(report)).toMatch(/^three +2 +1 +1,200 +1,100 +1,101 +3 +4 +1\.5 s +0$/m);
});

test("a run with a fault that the machine cannot run ends with exit code 3", async () => {
  const fault = { ...aFault("one"), unavailableReason: () => "there is no disk" };
  const report = await runFaults({ ...LONG, faults: [fault, aFault("two")], isQuick: true }, stateFile, silently);
  expect(exitCodeOf(report)).toBe(3);
  expect(reportText(report)).toContain("one: there is no disk");
});
