import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { inputsOf } from "./inputs.ts";

const BIN = fileURLToPath(new URL("../../../services/collections/bin", import.meta.url));
const SOURCE = "services/collections/src/cli/main.ts";
const PROGRAM = "services/collections/bin/collections.mjs";
const BUNDLE = "services/collections/dist/service";

let root: string;

/** Makes a checkout whose sources and whose bundle each print their name. */
beforeEach(() => {
  root = `${mkdtempSync(join(tmpdir(), "launch-"))}/`;
  onTestFinished(() => rmSync(root, { recursive: true }));
  write("package.json", '{ "type": "module" }');
  write(SOURCE, "console.log('sources');");
  write("pnpm-lock.yaml", "lockfileVersion: '9.0'");
  write(`${BUNDLE}/cli.js`, "console.log('bundle');");
  cpSync(BIN, join(root, "services/collections/bin"), { recursive: true });
});

function write(path: string, text: string): void {
  mkdirSync(join(root, dirname(path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Records the present files as the inputs of the bundle. */
function recordInputs(): void {
  const inputs = inputsOf(root, [join(root, SOURCE)], Date.now() + 60_000);
  write(`${BUNDLE}/inputs.json`, JSON.stringify(inputs));
}

function launched(): string {
  const args = ["--disable-warning=ExperimentalWarning", join(root, PROGRAM)];
  return execFileSync(process.execPath, args, { encoding: "utf8" }).trim();
}

test("pnpm collections runs the bundle of the present sources", () => {
  recordInputs();
  expect(launched()).toBe("bundle");
});

test("pnpm collections runs the bundle if the files have other times, as in a copy, but the same content", () => {
  recordInputs();
  utimesSync(join(root, SOURCE), 1, 1);
  expect(launched()).toBe("bundle");
});

test.each([
  ["a source has changed and has the same size", () => write(SOURCE, "console.log('SOURCES');"), "SOURCES"],
  ["a source has another size", () => write(SOURCE, "console.log('sources 2');"), "sources 2"],
  ["the versions of the libraries have changed", () => write("pnpm-lock.yaml", "lockfileVersion: '9.1'"), "sources"],
  ["a file that was bundled is gone", () => rmSync(join(root, "pnpm-lock.yaml")), "sources"],
  ["no bundle was built", () => rmSync(join(root, BUNDLE), { recursive: true }), "sources"],
  ["the list of inputs is incomplete", () => write(`${BUNDLE}/inputs.json`, '[["pnpm-'), "sources"],
])("pnpm collections runs the sources if %s", (_, change, printed) => {
  recordInputs();
  change();
  expect(launched()).toBe(printed);
});

test("a file that changes while the bundle is built leaves the bundle without a list of inputs", () => {
  expect(inputsOf(root, [join(root, SOURCE)], Date.now() - 60_000)).toBeUndefined();
});
