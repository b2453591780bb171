import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../src/bundle.ts";

const instructions = readFileSync(join(ROOT, "Containerfile"), "utf8")
  .replaceAll(/^#.*$/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "");

test("each COPY of the Containerfile names files of the repository that .containerignore lets through", () => {
  const sources = argumentsOf("COPY")
    .filter((text) => !text.startsWith("--from="))
    .flatMap((text) => text.split(" ").slice(0, -1));
  expect(sources).toContain("tooling");
  expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const ignore = readFileSync(join(ROOT, ".containerignore"), "utf8").split("\n");
  expect(sources.filter((path) => !ignore.includes(`!${path}`))).toEqual([]);
});

test("the Containerfile installs with the lockfile and makes the release with options that release:make has", () => {
  const [install = "", make = ""] = argumentsOf("RUN");
  expect(install).toBe("npx -y pnpm@12 install --frozen-lockfile");
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
  const [, script = "", options = ""] = /^npx -y pnpm@12 (\S+) (.*)$/.exec(make)!;
  const [program = ""] = /\S+\.ts$/.exec(scripts[script]!)!;
  const { stdout: help } = spawnSync(process.execPath, [join(ROOT, program), "--help"], { encoding: "utf8" });
  for (const [option] of options.matchAll(/--\w+/g)) expect(help).toContain(option);
  expect(argumentsOf("COPY").at(-1)).toBe(`--from=build ${/--to (\S+)/.exec(options)![1]} ./`);
});

test("both stages of the Containerfile use the major version of Node that the repository uses", () => {
  const [, major] = /^nodeVersion: (\d+)/m.exec(readFileSync(join(ROOT, "pnpm-workspace.yaml"), "utf8"))!;
  expect(argumentsOf("FROM")).toEqual([`node:${major}-slim AS build`, `node:${major}-slim`]);
});

test("the image exposes the default port, runs as another account than root, and stops with SIGTERM", () => {
  const config = readFileSync(join(ROOT, "services/collections/src/settings/config.ts"), "utf8");
  const [, port] = /PORT: wholeNumber.*default\((\d+)\)/.exec(config)!;
  expect(argumentsOf("EXPOSE")).toEqual([`${port} 9464`]);
  expect(argumentsOf("ENV")).toEqual([`HOST=0.0.0.0 PORT=${port} METRICS_HOST=0.0.0.0 METRICS_PORT=9464`]);
  expect([argumentsOf("USER"), argumentsOf("STOPSIGNAL")]).toEqual([["node"], ["SIGTERM"]]);
  expect(instructions.filter((line) => /MASTER_KEY|DATABASE_URL|PASSWORD|TOKEN/.test(line))).toEqual([]);
});

test.each([
  { status: 200, exitCode: 0 },
  { status: 503, exitCode: 1 },
])("the health check exits with $exitCode if /readyz answers $status", async ({ status, exitCode }) => {
  const server = createServer((request, response) =>
    response.writeHead(request.url === "/readyz" ? status : 404).end(),
  );
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const [, command = ""] = /CMD (\[.*\])$/.exec(argumentsOf("HEALTHCHECK")[0]!)!;
  const [, ...args] = JSON.parse(command) as string[];
  const env = { PORT: String((server.address() as AddressInfo).port) };
  expect(await once(spawn(process.execPath, args, { env }), "exit")).toEqual([exitCode, null]);
});

interface Manifest {
  scripts: Record<string, string>;
}

/** Returns the text after each instruction of this name. */
function argumentsOf(instruction: string): string[] {
  return instructions
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1));
}
