import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KEY, listenerFor, TestLender } from "./test-lender.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const run = promisify(execFile);
let folder: string;
let certificate: string;
let url: string;
let close: () => void;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "conformance-tls-"));
  certificate = join(folder, "certificate.pem");
  const key = join(folder, "key.pem");
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  await run("openssl", [...args, ...subject, "-keyout", key, "-out", certificate]);
  const credentials = { key: await readFile(key), cert: await readFile(certificate) };
  const server = createServer(credentials, listenerFor(new TestLender()));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `https://localhost:${(server.address() as AddressInfo).port}/hooks`;
  close = () => {
    server.close();
    server.closeAllConnections();
  };
});

afterAll(async () => {
  close();
  await rm(folder, { recursive: true });
});

test("tests a lender with a trusted certificate over TLS", async () => {
  const { stdout } = await conformance({ NODE_EXTRA_CA_CERTS: certificate });
  expect(JSON.parse(stdout)).toMatchObject({ passed: true });
});

test("reports an untrusted certificate as an unreachable URL", async () => {
  const stderr = expect.stringMatching(/^--receiver: localhost port \d+ cannot be reached: .*certificate/m) as string;
  await expect(conformance({})).rejects.toMatchObject({ code: 2, stdout: "", stderr });
});

function conformance(env: NodeJS.ProcessEnv): Promise<{ stdout: string }> {
  const { keyId, secret } = KEY;
  const args = ["--disable-warning=ExperimentalWarning", MAIN, "--receiver", url, "--key-id", keyId, "--json"];
  return run(process.execPath, args, { env: { ...process.env, CONFORMANCE_SECRET: secret, ...env } });
}
