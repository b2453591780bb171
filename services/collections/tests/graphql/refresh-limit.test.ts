import { randomUUID } from "node:crypto";
import { transaction } from "@collections/database";
import { createFieldPartner } from "@collections/field-partners";
import { beforeAll, expect, test } from "vitest";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { startSmsGateway } from "../fixtures/sms-gateway.ts";

const REFRESH = `mutation ($input: RefreshSessionInput!) { refreshSession(input: $input) {
  __typename ... on RefreshSessionPayload { tokens { refreshToken } } } }`;

const gateway = await startSmsGateway();
let service: TestService;
let people = 0;

beforeAll(async () => {
  const settings = { ENVIRONMENT: "live", OTP_SMS_URL: gateway.url, OTP_SMS_HEADER: "Authorization: Key x" };
  service = await startTestService({
    settings: { ...settings, RATE_LIMITS: "refresh=4,sign-in=20", TRUST_PROXY: "loopback" },
  });
});

/** Signs a new field partner in and returns their refresh token. */
async function aRefreshToken(): Promise<string> {
  people += 1;
  const phone = `+9197${String(20_000_000 + people)}`;
  await transaction(service.app.database.em(), (tx) => createFieldPartner(tx, { displayName: "Asha Rao", phone }));
  const stranger = new AppClient(service.url);
  const { otpId } = await stranger.mutate("requestOtp", { phone }, "otpId");
  const { code } = await gateway.next(otpId);
  const { tokens } = await stranger.mutate("verifyOtp", { otpId, code }, "tokens { refreshToken }");
  return tokens.refreshToken;
}

interface Renewal {
  status: number;
  body: {
    data?: { refreshSession: { __typename: string; tokens?: { refreshToken: string } } | null };
    errors?: { message: string; extensions: { code: string; retryAfterS: number } }[];
  };
}

async function renew(address: string, refreshToken: string, idempotencyKey: string = randomUUID()): Promise<Renewal> {
  const response = await fetch(`${service.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-forwarded-for": address },
    body: JSON.stringify({ query: REFRESH, variables: { input: { refreshToken, idempotencyKey } } }),
  });
  return { status: response.status, body: (await response.json()) as Renewal["body"] };
}

function codesOf(renewals: readonly Renewal[]): Record<string, number> {
  const codes = renewals.map(({ body }) => body.errors?.[0]!.extensions.code ?? body.data!.refreshSession!.__typename);
  return Object.fromEntries([...Map.groupBy(codes, (code) => code)].map(([code, all]) => [code, all.length]));
}

/** Returns a refresh token that has the right format but does not exist. */
function aGuess(): string {
  return `fpr_${Buffer.from(randomUUID() + randomUUID())
    .toString("base64url")
    .slice(0, 43)}`;
}

test("unknown refresh tokens from one address are limited, but valid refresh tokens from that address still work", async () => {
  const refreshToken = await aRefreshToken();
  const guesses = await Promise.all(Array.from({ length: 30 }, () => renew("203.0.113.7", aGuess())));
  expect(codesOf(guesses)).toEqual({ SessionEnded: 20, RATE_LIMITED: 10 });
  const refused = await renew("203.0.113.7", aGuess());
  const { message, extensions } = refused.body.errors![0]!;
  expect(message).toMatch(/^More than 20 unknown refresh tokens came from this network in a minute\. Wait \d+ s/);
  expect(extensions.retryAfterS).toBeGreaterThan(30);

  expect(codesOf([await renew("203.0.113.7", refreshToken)])).toEqual({ RefreshSessionPayload: 1 });
  expect(codesOf([await renew("203.0.113.8", aGuess())])).toEqual({ SessionEnded: 1 });
  // The limit on unknown refresh tokens does not prevent sign-ins from another address.
  expect(await aRefreshToken()).toMatch(/^fpr_/);
});

test("renewals of one session share one limit over all addresses, which does not affect other sessions", async () => {
  const [refreshToken, neighbours, key] = [await aRefreshToken(), await aRefreshToken(), randomUUID()];
  const repeats = await Promise.all(Array.from({ length: 9 }, (_, at) => renew(`198.51.100.${at}`, refreshToken, key)));
  expect(codesOf(repeats)).toEqual({ RefreshSessionPayload: 4, RATE_LIMITED: 5 });
  const tokens = repeats.flatMap(({ body }) => body.data?.refreshSession?.tokens ?? []);
  expect(new Set(tokens.map((pair) => pair.refreshToken)).size).toBe(1);
  expect(codesOf([await renew("198.51.100.1", neighbours)])).toEqual({ RefreshSessionPayload: 1 });

  // The renewal is rejected before it has any effect: the session continues, and its newest token still works a minute
  // later.
  expect(codesOf([await renew("198.51.100.1", tokens[0]!.refreshToken)])).toEqual({ RATE_LIMITED: 1 });
  await service.app.database.pool.query(
    "update rate_limits.permit_window set at_ms = array(select at - 60000 from unnest(at_ms) at)",
  );
  await expect
    .poll(async () => codesOf([await renew("198.51.100.1", tokens[0]!.refreshToken)]))
    .toEqual({ RefreshSessionPayload: 1 });
});
