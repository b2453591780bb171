import { execFile } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterFile, emptyDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aRegisteredLender, startProcess } from "../fixtures/processes.ts";

const run = promisify(execFile);

test("SIGHUP reads the certificates of NODE_EXTRA_CA_CERTS again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "hangup-"));
  afterFile(() => rm(folder, { recursive: true }));
  const [other, own] = [await certificateIn(folder, "other"), await certificateIn(folder, "own")];
  const trusted = join(folder, "trusted.pem");
  await copyFile(other.cert, trusted);
  const receiver = createServer(
    { key: await readFile(own.key), cert: await readFile(own.cert) },
    (_request, response) => void response.end("{}"),
  );
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  afterFile(async () => {
    receiver.closeAllConnections();
    receiver.close();
  });

  const { url: databaseUrl } = await emptyDatabase();
  const allow = { OUTBOUND_ALLOW: "localhost:*,127.0.0.1:*" };
  const service = await startProcess({ DATABASE_URL: databaseUrl, NODE_EXTRA_CA_CERTS: trusted, ...allow });
  const cli = commandsInProcess({ DATABASE_URL: databaseUrl, ...allow });
  const callbackUrl = `https://localhost:${(receiver.address() as AddressInfo).port}/hooks`;
  const lender = await aRegisteredLender(cli, service.url, { "callback-url": callbackUrl });
  const ping = async () => (await lender.call("POST", "/api/v1/partner/webhooks/test")).body;
  expect(await ping()).toMatchObject({ delivered: false, error: { code: "TLS" } });

  await copyFile(own.cert, trusted);
  service.send("SIGHUP");
  await expect.poll(() => service.log()).toContain("the certificates of NODE_EXTRA_CA_CERTS were read again");
  expect(await ping()).toMatchObject({ delivered: true, error: null });
});

async function certificateIn(folder: string, name: string): Promise<{ cert: string; key: string }> {
  const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost"];
  await run("openssl", ["req", ...kind, ...subject, "-keyout", key, "-out", cert]);
  return { cert, key };
}
