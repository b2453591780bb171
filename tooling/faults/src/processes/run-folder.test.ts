import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { clearLeftovers, ownFolder } from "./run-folder.ts";

const dataDir = mkdtempSync(join(tmpdir(), "collections-run-folder-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

/** A process id larger than any system assigns. */
const NO_PROCESS = 2 ** 30;

function leftFolder(name: string): string {
  const folder = join(dataDir, name);
  mkdirSync(join(folder, "data"), { recursive: true });
  writeFileSync(join(folder, "owner.json"), JSON.stringify({ pid: NO_PROCESS, startedAt: "1" }));
  return folder;
}

test("clearLeftovers keeps the folder of a run whose process is running, and removes the folder of a dead run", () => {
  const own = ownFolder(dataDir);
  const left = leftFolder("faults-left");
  const beforeOwners = join(dataDir, "faults-without-owner");
  mkdirSync(beforeOwners);
  utimesSync(beforeOwners, 0, 0);
  const beingMade = join(dataDir, "faults-being-made");
  mkdirSync(beingMade);
  expect(clearLeftovers(dataDir).toSorted()).toEqual([left, beforeOwners].toSorted());
  expect([own, beingMade, left, beforeOwners].map(existsSync)).toEqual([true, true, false, false]);
});

test("a new process with the id of a dead run does not own that run's folder", () => {
  const folder = leftFolder("faults-id-came-again");
  writeFileSync(join(folder, "owner.json"), JSON.stringify({ pid: process.pid, startedAt: "1" }));
  expect(clearLeftovers(dataDir)).toEqual([folder]);
});

test("clearLeftovers does not touch other entries of the data folder", () => {
  mkdirSync(join(dataDir, "postgres"));
  writeFileSync(join(dataDir, "faults-run.json"), "{}");
  expect(clearLeftovers(dataDir)).toEqual([]);
  expect(["postgres", "faults-run.json"].map((name) => existsSync(join(dataDir, name)))).toEqual([true, true]);
});

test.runIf(process.platform === "linux")(
  "clearLeftovers ends the processes of a dead run, but not processes that only mention its folder",
  async () => {
    const folder = leftFolder("faults-with-processes");
    const start = (env: Record<string, string>, ...args: string[]) =>
      spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)", ...args], { env });
    const left = start({ FAULTS_RUN: folder });
    const reader = start({}, `${folder}/servers.log`);
    await Promise.all([left, reader].map((child) => once(child.stdout, "data")));
    const ended = once(left, "exit");
    clearLeftovers(dataDir);
    expect((await ended)[1]).toBe("SIGKILL");
    expect([reader.exitCode, reader.signalCode]).toEqual([null, null]);
    reader.kill();
  },
);
