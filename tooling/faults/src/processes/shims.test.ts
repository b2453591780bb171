import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeClocks } from "./clock.ts";
import { makeShim, shimUnavailable } from "./shim.ts";

const folder = mkdtempSync(join(tmpdir(), "collections-shims-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program with a preloaded library and returns its output. */
function printed(settings: Readonly<Record<string, string>>, program: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", program], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], ...settings },
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout;
}

test.runIf(shimUnavailable() === undefined)(
  "the clock shim shifts the clock of a running process, but not its timers",
  () => {
    const [clock] = makeClocks(1, folder);
    const program = `
    const [before, startedAt] = [Date.now(), performance.now()];
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(-600000n);
    const file = fs.openSync(process.env.FAULTS_CLOCK_FILE, "r+");
    fs.writeSync(file, bytes, 0, 8, 0);
    setTimeout(() => console.log(JSON.stringify([Date.now() - before, performance.now() - startedAt])), 50);`;
    const [movedMs, waitedMs] = JSON.parse(printed(clock!.settings, program)) as [number, number];
    // The monotonic clock, which is not shifted, shows how much time has passed in between.
    expect(Math.round((movedMs - waitedMs) / 1_000)).toBe(-600);
    expect(waitedMs).toBeGreaterThan(40);
    expect(waitedMs).toBeLessThan(590_000);
  },
);

test.runIf(shimUnavailable() === undefined)(
  "the disk shim lets no file in its folder grow, but allows overwriting and growth in other folders",
  () => {
    const place = mkdtempSync(join(folder, "disk-"));
    const [full, inside, outside] = [join(folder, "is-full"), join(place, "inside"), join(folder, "outside")];
    const settings = {
      LD_PRELOAD: makeShim("disk", folder),
      FAULTS_DISK_FOLDER: place,
      FAULTS_DISK_FULL: full,
    };
    const program = `
    const attempt = (what, work) => { try { work(); console.log(what, "done"); } catch (e) { console.log(what, e.code); } };
    const [full, inside, outside] = ${JSON.stringify([full, inside, outside])};
    attempt("before", () => fs.writeFileSync(inside, "12345"));
    fs.writeFileSync(full, "");
    const file = fs.openSync(inside, "r+");
    attempt("change", () => fs.writeSync(file, "67", 0));
    attempt("grow", () => fs.writeSync(file, "67890", 3));
    attempt("stretch", () => fs.ftruncateSync(file, 100));
    attempt("outside", () => fs.writeFileSync(outside, "1"));
    fs.rmSync(full);
    attempt("after", () => fs.writeSync(file, "890", 5));`;
    const expected = ["before done", "change done", "grow ENOSPC", "stretch ENOSPC", "outside done", "after done"];
    expect(printed(settings, program).trim().split("\n")).toEqual(expected);
    expect(readFileSync(inside, "utf8")).toBe("67345890");
    expect(existsSync(outside)).toBe(true);
  },
);
