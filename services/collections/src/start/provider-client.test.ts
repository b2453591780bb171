import type { Outbound } from "@collections/outbound";
import { expect, test } from "vitest";
import { createProviderClient } from "./provider-client.ts";

/** Returns an outbound client for which every host answers with a discovery document. */
function answering(document: object): Outbound {
  const headers = { "content-type": "application/json" };
  const body = Buffer.from(JSON.stringify(document));
  return {
    allow: { entries: [] },
    request: async () => ({ kind: "answer", status: 200, headers, body, bodyCut: false, durationMs: 1 }),
    ownFaults: () => [],
    close: async () => {},
  };
}

function discovered(issuer: string, named: string) {
  const settings = { issuer, clientId: "console", clientSecret: "x", scope: "openid", rolesClaim: "r", nameClaim: "n" };
  const client = createProviderClient(settings, answering({ issuer: named, token_endpoint: `${issuer}/token` }));
  return client.discovered();
}

const MICROSOFT = "https://login.microsoftonline.com";

test.each([
  [`${MICROSOFT}/common/v2.0`, `${MICROSOFT}/{tenantid}/v2.0`],
  ["https://bank.b2clogin.com/bank/v2.0", `${MICROSOFT}/other/v2.0`],
  ["https://login.bank.example", "https://login.bank.example/realm"],
])("the issuer %s is refused if its document names %s", async (issuer, named) => {
  await expect(discovered(issuer, named)).rejects.toThrow(/issuer/i);
});

test("an issuer may be spelled with or without a slash after the host", async () => {
  const { configuration } = await discovered("https://login.bank.example", "https://login.bank.example/");
  expect(configuration.serverMetadata().issuer).toBe("https://login.bank.example/");
});
