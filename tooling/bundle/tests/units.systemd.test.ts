import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../src/bundle.ts";
import { UNITS } from "./unit-file.ts";

test("systemd accepts every directive and value of the units", () => {
  expect(verify((text) => text)).toEqual({ status: 0, stderr: "" });
});

test("systemd reports a directive that does not exist", () => {
  const { stderr } = verify((text) => text.replace("ProtectSystem=", "ProtectSytsem="));
  expect(stderr).toContain("ProtectSytsem");
});

/** Verifies copies of the units that name the Node of this process, because systemd looks for the program. */
function verify(change: (text: string) => string): { status: number | null; stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), "collections-units-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const copies = UNITS.map((name) => {
    const text = readFileSync(join(ROOT, `deploy/systemd/${name}.service`), "utf8");
    const copy = join(folder, `${name}.service`);
    writeFileSync(copy, change(text.replace("/usr/bin/node ", `${process.execPath} `)));
    return copy;
  });
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...copies], { encoding: "utf8" });
  return { status, stderr };
}
