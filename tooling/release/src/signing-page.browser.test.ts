import { startBrowser } from "@collections/browser";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { copyExamples, EXAMPLES } from "./example.ts";
import { npmInstall } from "./outside.ts";
import { packAll } from "./pack-all.ts";

test("in a browser with the published files, the example's page signs and its worker verifies", async () => {
  const url = await servePage();
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  const { page, errors, requests, requestsElsewhere } = await browser.open(url);
  const output = page.getByRole("status");
  await expect.poll(() => output.textContent()).toContain('The edge worker answers 200 {"kind":"case.closed"}');
  expect(await output.textContent()).toContain("WebCrypto makes the same.");
  const signature = /[0-9a-f]{64}/.exec((await output.textContent()) ?? "")?.[0];
  expect(signature).toBeDefined();

  await page.getByLabel("Secret").fill("another secret");
  await expect.poll(() => output.textContent()).not.toContain(signature);
  expect(await output.textContent()).toContain("WebCrypto makes the same.");
  expect(requests.filter((asked) => /hmac-\w+\.js$/.test(asked))).toEqual([
    `${url}node_modules/@collections/signing/dist/hmac-portable.js`,
  ]);
  expect([...errors, ...requestsElsewhere()]).toEqual([]);
});

/** Serves the example from a folder outside the tree, as its README describes. */
async function servePage(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "collections-page-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const example = join(folder, "signing");
  await copyExamples(join(EXAMPLES, "signing"), example);
  const tarballs = await packAll(join(folder, "tarballs"), "./packages/signing");
  await npmInstall(
    example,
    tarballs.map(({ path }) => path),
  );
  const env = { ...process.env, PORT: "0" };
  const server = spawn(process.execPath, ["serve.js"], { cwd: example, env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void server.kill());
  const [said] = (await once(server.stdout, "data")) as [Buffer];
  return /http:\S+/.exec(said.toString())![0];
}
