import { expect, test } from "vitest";
import { readUnit, UNITS } from "./unit-file.ts";

test.each(UNITS)("%s.service runs main.js of the current release as an account with few rights", (name) => {
  const unit = readUnit(name);
  const command = `/usr/bin/node /opt/collections/current/main.js${name === "collections-migrate" ? " migrate" : ""}`;
  expect(Object.fromEntries(unit)).toMatchObject({
    ExecStart: [command],
    User: ["collections"],
    DynamicUser: ["yes"],
    NoNewPrivileges: ["yes"],
    CapabilityBoundingSet: [""],
    ProtectSystem: ["strict"],
    KillSignal: ["SIGTERM"],
    TimeoutStopSec: ["20"],
  });
  expect(unit.get("EnvironmentFile")).toContain("/etc/collections/env");
  // Node compiles JavaScript to machine code, so a process with this restriction would be killed.
  expect(unit.has("MemoryDenyWriteExecute")).toBe(false);
});

test("the services restart unless they exit with code 2, and each has ports of its own", () => {
  const [server, worker] = [readUnit("collections-server"), readUnit("collections-worker")];
  for (const unit of [server, worker]) {
    expect(Object.fromEntries(unit)).toMatchObject({ Restart: ["always"], RestartPreventExitStatus: ["2"] });
  }
  const ports = [server, worker].map((unit) => unit.get("Environment")![0]!.match(/(?<=PORT=)\d+/g));
  expect(ports).toEqual([
    ["3000", "9464"],
    ["3001", "9465"],
  ]);
});

test("the migration runs once, and only its unit reads the file with the URL of the schema's owner", () => {
  expect(readUnit("collections-migrate").get("Type")).toEqual(["oneshot"]);
  const readers = UNITS.filter((name) =>
    readUnit(name).get("EnvironmentFile")!.includes("-/etc/collections/migrate.env"),
  );
  expect(readers).toEqual(["collections-migrate"]);
});
