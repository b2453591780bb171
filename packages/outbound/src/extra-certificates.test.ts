import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { answer, openOrigin } from "../tests/scripted-origin.ts";
import { expired, selfSigned } from "../tests/self-signed.ts";
import { createExtraCertificates } from "./extra-certificates.ts";
import { createOutbound } from "./outbound.ts";

let before: string[];
let folder: string;
let file: string;

beforeEach(async () => {
  before = getCACertificates("default");
  folder = await mkdtemp(join(tmpdir(), "extra-ca-"));
  file = join(folder, "extra.pem");
  await writeFile(file, expired.cert);
});

afterEach(async () => {
  setDefaultCACertificates(before);
  await rm(folder, { recursive: true });
});

test("a new certificate in the file is trusted by the next connection", async () => {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK", "", ["Connection: close"])), "tls");
  const outbound = createOutbound({
    allow: "lender.test:*",
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
  });
  const request = { method: "POST" as const, url: `https://lender.test:${origin.port}`, timeoutMs: 300_000 };
  const certificates = createExtraCertificates(file);
  expect(await certificates.reload()).toBe(1);
  expect(await outbound.request(request)).toMatchObject({ kind: "failure", code: "TLS" });
  expect(await certificates.reloadIfChanged()).toBeUndefined();
  await writeFile(file, `# ours\n${expired.cert}\n${selfSigned.cert}`);
  expect(await certificates.reloadIfChanged()).toBe(2);
  expect(await outbound.request(request)).toMatchObject({ kind: "answer", status: 200 });
  await outbound.close();
});

test("a certificate that the file no longer has is not trusted", async () => {
  const certificates = createExtraCertificates(file);
  await writeFile(file, selfSigned.cert);
  await certificates.reload();
  expect(trusts(selfSigned.cert)).toBe(true);
  await writeFile(file, expired.cert);
  await certificates.reload();
  expect([trusts(selfSigned.cert), trusts(expired.cert)]).toEqual([false, true]);
});

test("a certificate of Node's own list stays when it leaves the file", async () => {
  const [own = ""] = getCACertificates("bundled");
  const certificates = createExtraCertificates(file);
  await writeFile(file, own);
  await certificates.reload();
  await writeFile(file, expired.cert);
  await certificates.reload();
  expect(trusts(own)).toBe(true);
});

test("a file without certificates changes nothing", async () => {
  const certificates = createExtraCertificates(file);
  await certificates.reload();
  await writeFile(file, "nothing");
  await expect(certificates.reloadIfChanged()).rejects.toMatchObject({ code: "NO_CERTIFICATE" });
  await rm(file);
  await expect(certificates.reload()).rejects.toMatchObject({ code: "ENOENT" });
  expect(trusts(expired.cert)).toBe(true);
});

function trusts(certificate: string): boolean {
  return getCACertificates("default").some((one) => one.replaceAll(/\s/g, "") === certificate.replaceAll(/\s/g, ""));
}
