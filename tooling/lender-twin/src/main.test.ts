import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

test("the lender twin prints the URLs to register, serves them, and ends when it is interrupted", async () => {
  const twin = spawn(process.execPath, [MAIN, "--mint-auth", "X-Gateway: s3cret"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(twin, "exit");
  let printed = "";
  while (!printed.includes("pay pages")) printed += String((await once(twin.stdout, "data"))[0]);
  expect(printed).toContain("auth header   X-Gateway: s3cret");
  const url = /http:\/\/127\.0\.0\.1:\d+\/hooks\/collections/.exec(printed)?.[0] ?? "";
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
  twin.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test.concurrent.each([
  [["--help"], 0, "--service-url"],
  [["--port", "http"], 2, '--port must be a number from 0 to 65535, got "http"'],
  [["--mint-auth", "s3cret"], 2, "--mint-auth takes"],
  [["--prot", "1"], 2, "--prot"],
])("the lender twin with the arguments %j exits with %i and a message", async (args, code, text) => {
  const twin = spawn(process.execPath, [MAIN, ...args]);
  let printed = "";
  twin.stdout.on("data", (chunk) => (printed += String(chunk)));
  twin.stderr.on("data", (chunk) => (printed += String(chunk)));
  expect(await once(twin, "close")).toEqual([code, null]);
  expect(printed).toContain(text);
});
