import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { actsOnFieldPartner, createFieldPartner, suspendFieldPartner } from "@collections/field-partners";
import { startFakeWhatsApp } from "@collections/lender-twin";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { jobsSchema, schemas } from "../../src/schemas.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { startSmsGateway } from "../fixtures/sms-gateway.ts";

const TOKENS = "tokens { accessToken accessExpiresAt refreshToken refreshExpiresAt }";
const TOKEN = "EAAGtoken";
const PHONE_NUMBER_ID = "106540352242922";

interface Tokens {
  accessToken: string;
  refreshToken: string;
}

const gateway = await startSmsGateway();
const whatsapp = await startFakeWhatsApp({ token: TOKEN, phoneNumberId: PHONE_NUMBER_ID });
afterFile(() => whatsapp.close());

let service: TestService;
let stranger: AppClient;
let people = 0;

beforeAll(async () => {
  service = await startTestService({
    settings: { ENVIRONMENT: "live", OTP_SMS_URL: gateway.url, OTP_SMS_HEADER: "Authorization: Key x" },
  });
  stranger = new AppClient(service.url);
});

async function aPerson(at = service): Promise<{ id: string; phone: string }> {
  people += 1;
  const phone = `+9197${String(10_000_000 + people)}`;
  return transaction(at.app.database.em(), (tx) => createFieldPartner(tx, { displayName: "Asha Rao", phone }));
}

function requestOtp(phone: string, input: object = {}, from = stranger) {
  return from.mutate("requestOtp", { phone, ...input }, "otpId expiresAt");
}

function verifyOtp(otpId: string, code: string, input: object = {}) {
  return stranger.mutate("verifyOtp", { otpId, code, ...input }, TOKENS);
}

function refresh(refreshToken: string, idempotencyKey: string = randomUUID()) {
  return stranger.mutate("refreshSession", { refreshToken, idempotencyKey }, TOKENS);
}

async function signIn(phone: string, deviceName = "Redmi"): Promise<Tokens> {
  const { otpId } = (await requestOtp(phone)) as { otpId: string };
  const { code } = await gateway.next(otpId);
  const { tokens } = (await verifyOtp(otpId, code!, { deviceName })) as { tokens: Tokens };
  return tokens;
}

function appOf({ accessToken }: Tokens): AppClient {
  return new AppClient(service.url, accessToken);
}

async function codeOf(tokens: Tokens): Promise<string | undefined> {
  const { errors } = await appOf(tokens).ask("{ viewer { displayName } }");
  return errors?.[0]?.extensions.code;
}

describe("signing in", () => {
  test("takes a one-time password sent to the phone, and returns working tokens", async () => {
    const { id, phone } = await aPerson();
    const requested = await requestOtp(phone);
    expect(requested).toMatchObject({
      __typename: "RequestOtpPayload",
      otpId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const sms = await gateway.next(requested.otpId);
    expect(sms).toEqual({ to: phone, code: expect.stringMatching(/^\d{6}$/), key: requested.otpId });
    await settled(requested.otpId);
    const wrong = await verifyOtp(requested.otpId, sms.code === "000000" ? "000001" : "000000");
    expect(wrong).toMatchObject({ __typename: "OtpWrong", code: "OTP_WRONG" });
    const { tokens } = await verifyOtp(requested.otpId, sms.code!);
    expect(tokens).toMatchObject({
      accessToken: expect.stringMatching(/^fpt_/),
      refreshToken: expect.stringMatching(/^fpr_/),
    });
    const { data } = await appOf(tokens).ask("{ viewer { displayName } sessions { isCurrent } }");
    expect(data).toEqual({ viewer: { displayName: "Asha Rao" }, sessions: [{ isCurrent: true }] });
    expect(await verifyOtp(requested.otpId, sms.code!)).toMatchObject({
      __typename: "OtpExpired",
      code: "OTP_EXPIRED",
    });
    const acts = await actsOnFieldPartner(service.app.database.em(), id);
    expect(acts.map(({ act }) => act)).toEqual(["session.started", "otp.sent", "field_partner.created"]);
  });

  test("returns the same tokens when a request is repeated after a lost answer", async () => {
    const { phone } = await aPerson();
    const key = { idempotencyKey: randomUUID() };
    const { otpId } = await requestOtp(phone, key);
    expect(await requestOtp(phone, key)).toMatchObject({ otpId });
    const { code } = await gateway.next(otpId);
    const first = await verifyOtp(otpId, code!, key);
    expect(await verifyOtp(otpId, code!, key)).toEqual(first);
    expect(gateway.messages.filter(({ to }) => to === phone)).toHaveLength(1);
  });

  test.each([
    ["a 0 behind the country code", (digits: string) => `+91 0${digits}`],
    ["invisible marks", (digits: string) => `\u202A+91\u00A0${digits}\u202C`],
  ])("reads a phone with %s", async (_, written) => {
    const { phone } = await aPerson();
    await requestOtp(written(phone.slice(3)));
    await expect.poll(() => gateway.messages.filter(({ to }) => to === phone)).toHaveLength(1);
  });

  test("gives an unknown phone the same answers, and sends no message", async () => {
    const { phone } = await aPerson();
    const unknown = "+919611111111";
    const answers = await Promise.all([requestOtp(phone), requestOtp(unknown)]);
    expect(answers.map((answer) => Object.keys(answer as object))).toEqual([
      ["__typename", "otpId", "expiresAt"],
      ["__typename", "otpId", "expiresAt"],
    ]);
    await gateway.next(answers[0].otpId);
    for (const { otpId } of answers) {
      expect(await verifyOtp(otpId, "none")).toEqual({
        __typename: "OtpWrong",
        code: "OTP_WRONG",
        message: "The code is wrong. Attempts left: 4.",
      });
    }
    await settled(answers[1].otpId);
    expect(gateway.messages.filter(({ to }) => to === unknown)).toEqual([]);
  });

  test("rejects an invalid phone, too many requests, an idempotency key used for another phone, and an invalid device name", async () => {
    expect(await requestOtp("9800000001")).toMatchObject({ __typename: "InvalidPhone", code: "INVALID_PHONE" });
    const { phone } = await aPerson();
    const key = { idempotencyKey: randomUUID() };
    await requestOtp(phone, key);
    expect(await requestOtp("+919622222222", key)).toMatchObject({ __typename: "IdempotencyConflict" });
    await Promise.all([requestOtp(phone), requestOtp(phone)]);
    expect(await requestOtp(phone)).toMatchObject({ __typename: "RateLimited", code: "RATE_LIMITED" });
    const refused = verifyOtp(randomUUID(), "123456", { deviceName: "\u0000" });
    await expect(refused).rejects.toThrow("BAD_INPUT");
  });

  test("rejects a device name of 120,000 combining marks without normalizing it, because that would take seconds", async () => {
    const tokens = await signIn((await aPerson()).phone);
    const deviceName = "\u0301".repeat(60_000) + "\u0323".repeat(60_000);
    const input = { idempotencyKey: randomUUID(), otpId: randomUUID(), code: "123456", deviceName };
    // The service runs in this process, so the spy on `normalize` sees the calls of the service.
    const normalize = vi.spyOn(String.prototype, "normalize");
    onTestFinished(() => normalize.mockRestore());
    const answer = await fetch(`${service.url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${tokens.accessToken}` },
      body: JSON.stringify({
        query: "mutation ($input: VerifyOtpInput!) { verifyOtp(input: $input) { __typename } }",
        variables: { input },
      }),
    });
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: "BAD_INPUT" } }] });
    const lengths = normalize.mock.contexts.map((text) => String(text).length);
    expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(1_000);
  });
});

describe("a session of the app", () => {
  test("is renewed once for each idempotency key, and ends when the old refresh token is used again", async () => {
    const tokens = await signIn((await aPerson()).phone);
    const key = randomUUID();
    const [first, again] = await Promise.all([refresh(tokens.refreshToken, key), refresh(tokens.refreshToken, key)]);
    expect(first).toMatchObject({ __typename: "RefreshSessionPayload" });
    expect(again).toEqual(first);
    expect(await codeOf(first.tokens)).toBeUndefined();
    expect(await refresh(tokens.refreshToken)).toMatchObject({ __typename: "SessionEnded", code: "SESSION_ENDED" });
    expect(await codeOf(first.tokens)).toBe("UNAUTHENTICATED");
    expect(await codeOf(tokens)).toBe("UNAUTHENTICATED");
    expect(await refresh(first.tokens.refreshToken)).toMatchObject({ __typename: "SessionEnded" });
  });

  test("is renewed when the app repeats a refresh request that failed while the database was unavailable", async () => {
    const { refreshToken } = await signIn((await aPerson()).phone);
    const away = await createDatabase({ url: "postgres://nobody@127.0.0.1:1/nothing", schemas, jobsSchema });
    const server = await startHttpServer({ ...service.app, database: away });
    const input = { refreshToken, idempotencyKey: randomUUID() };
    const failed = new AppClient(server.url).mutate("refreshSession", input, TOKENS);
    await expect(failed).rejects.toThrow("INTERNAL");
    await server.stop(1_000);
    await away.close();
    expect(await refresh(refreshToken, input.idempotencyKey)).toMatchObject({ __typename: "RefreshSessionPayload" });
  });

  test("ends with all its tokens at sign-out", async () => {
    const tokens = await signIn((await aPerson()).phone);
    expect(await appOf(tokens).mutate("signOut", {}, "signedOut")).toMatchObject({ signedOut: true });
    expect(await codeOf(tokens)).toBe("UNAUTHENTICATED");
    expect(await refresh(tokens.refreshToken)).toMatchObject({ __typename: "SessionEnded" });
    await expect(appOf(tokens).mutate("signOut", {}, "signedOut")).rejects.toThrow("UNAUTHENTICATED");
  });

  test("on another phone can be listed and ended by its field partner, but not by another field partner", async () => {
    const { phone } = await aPerson();
    const [lost, kept] = [await signIn(phone, "Lost phone"), await signIn(phone, "New phone")];
    const list = "sessions { id deviceName isCurrent startedAt refreshedAt expiresAt }";
    const { data } = await appOf(kept).ask(`{ ${list} }`);
    expect(data!["sessions"]).toMatchObject([
      { deviceName: "New phone", isCurrent: true },
      { deviceName: "Lost phone", isCurrent: false },
    ]);
    const sessionId = data!["sessions"][1].id as string;
    const other = appOf(await signIn((await aPerson()).phone));
    expect((await other.ask("query ($id: ID!) { node(id: $id) { id } }", { id: sessionId })).data).toEqual({
      node: null,
    });
    expect(await other.mutate("endSession", { sessionId }, "sessions { id }")).toMatchObject({
      __typename: "SessionNotFound",
    });
    expect(await codeOf(lost)).toBeUndefined();
    const ended = await appOf(kept).mutate("endSession", { sessionId }, "sessions { deviceName }");
    expect(ended).toMatchObject({ sessions: [{ deviceName: "New phone" }] });
    expect(await codeOf(lost)).toBe("UNAUTHENTICATED");
    expect(await codeOf(kept)).toBeUndefined();
  });

  test("ends when its field partner is suspended, and then the field partner gets no one-time password", async () => {
    const { id, phone } = await aPerson();
    const tokens = await signIn(phone);
    await transaction(service.app.database.em(), (tx) => suspendFieldPartner(tx, id));
    expect(await codeOf(tokens)).toBe("UNAUTHENTICATED");
    expect(await refresh(tokens.refreshToken)).toMatchObject({ __typename: "SessionEnded" });
    const { otpId } = await requestOtp(phone);
    await settled(otpId);
    expect(gateway.messages.filter(({ key }) => key === otpId)).toEqual([]);
  });
});

describe("a one-time password", () => {
  test("is sent by WhatsApp first, and by SMS on a second request or when WhatsApp fails", async () => {
    const at = await startTestService({
      settings: {
        DATABASE_URL: (await startTestService({ hasWorker: false })).databaseUrl,
        WHATSAPP_BASE_URL: whatsapp.url,
        OTP_WHATSAPP_PHONE_NUMBER_ID: PHONE_NUMBER_ID,
        OTP_WHATSAPP_TOKEN: TOKEN,
        OTP_WHATSAPP_TEMPLATE: "sign_in_code:en_IN",
        OTP_SMS_URL: gateway.url,
        OTP_SMS_HEADER: "Authorization: Key x",
      },
    });
    const app = new AppClient(at.url);
    const { phone } = await aPerson(at);
    const first = (await requestOtp(phone, {}, app)) as { otpId: string };
    const [message] = await whatsapp.waitForMessages((messages) => messages.length === 1);
    // Until then the service does not know that WhatsApp was used, and would use it for the second request too.
    await settled(first.otpId, at);
    const code = message!.parameters[0]!;
    expect(message).toMatchObject({ to: phone, template: "sign_in_code", language: "en_IN", buttonCode: code });
    const again = (await requestOtp(phone, {}, app)) as { otpId: string };
    expect(await gateway.next(again.otpId)).toMatchObject({ to: phone });
    whatsapp.behaviour = "undeliverable";
    const { phone: without } = await aPerson(at);
    const { otpId } = (await requestOtp(without, {}, app)) as { otpId: string };
    expect(await gateway.next(otpId)).toMatchObject({ to: without });
    whatsapp.behaviour = "ok";
  });

  test("is sent again with the same code after a temporary failure of the SMS gateway", async () => {
    const { phone } = await aPerson();
    gateway.failNext(503);
    const { otpId } = await requestOtp(phone);
    const { code } = await gateway.next(otpId);
    const all = gateway.tried.filter(({ key }) => key === otpId);
    expect(all.map((sms) => sms.code)).toEqual([code, code]);
    expect(await verifyOtp(otpId, code!)).toMatchObject({ __typename: "VerifyOtpPayload" });
  });

  test("is unavailable where no channel is configured, and the app gets OtpUnavailable", async () => {
    const withoutChannels = await startTestService({
      settings: { ENVIRONMENT: "live", DATABASE_URL: service.databaseUrl },
      hasWorker: false,
    });
    const answer = await requestOtp("+919633333333", {}, new AppClient(withoutChannels.url));
    expect(answer).toMatchObject({ __typename: "OtpUnavailable", code: "OTP_UNAVAILABLE" });
  });
});

test("sign-in requests from one address are limited over all processes", async () => {
  const settings = { DATABASE_URL: service.databaseUrl, RATE_LIMITS: "sign-in=4" };
  const [one, two] = await Promise.all([1, 2].map(() => startTestService({ settings, hasWorker: false })));
  const apps = [new AppClient(one!.url), new AppClient(two!.url)];
  const answers = [];
  for (const app of [...apps, ...apps, ...apps]) {
    answers.push((await app.mutate("verifyOtp", { otpId: randomUUID(), code: "1" }, TOKENS)) as { code: string });
  }
  expect(answers.map(({ code }) => code)).toEqual([
    ...Array.from({ length: 4 }, () => "OTP_EXPIRED"),
    "RATE_LIMITED",
    "RATE_LIMITED",
  ]);
});

describe("a device that has signed in before", () => {
  let at: TestService;
  let app: AppClient;

  beforeAll(async () => {
    const settings = {
      ENVIRONMENT: "live",
      OTP_SMS_URL: gateway.url,
      OTP_SMS_HEADER: "Authorization: Key x",
      RATE_LIMITS: "sign-in=8,known-device=3",
    };
    at = await startTestService({ settings });
    app = new AppClient(at.url);
  });

  const verify = (otpId: string, code: string) => app.mutate("verifyOtp", { otpId, code }, TOKENS);

  async function useUpAddress(): Promise<void> {
    const tries = Array.from({ length: 8 }, () => verify(randomUUID(), "1"));
    await Promise.all(tries);
    expect(await verify(randomUUID(), "1")).toMatchObject({ code: "RATE_LIMITED" });
  }

  async function signedIn(): Promise<{ phone: string; refreshToken: string }> {
    await at.app.database.pool.query("delete from rate_limits.permit_window");
    const { phone } = await aPerson(at);
    const { otpId } = (await requestOtp(phone, {}, app)) as { otpId: string };
    const { code } = await gateway.next(otpId);
    const { tokens } = (await verify(otpId, code!)) as { tokens: Tokens };
    return { phone, refreshToken: tokens.refreshToken };
  }

  test("can sign in again although strangers have used up the limit of its address", async () => {
    const { phone, refreshToken } = await signedIn();
    await useUpAddress();
    const requested = await requestOtp(phone, { refreshToken }, app);
    expect(requested).toMatchObject({ __typename: "RequestOtpPayload" });
    const { code } = await gateway.next(requested.otpId);
    expect(await verify(requested.otpId, code!)).toMatchObject({ __typename: "VerifyOtpPayload" });
  });

  test("is recognized only by its own refresh token, not by an invented token or the token of another phone", async () => {
    const [own, other] = [await signedIn(), await signedIn()];
    await useUpAddress();
    for (const refreshToken of [`fpr_${"A".repeat(43)}`, "fpr_", own.refreshToken]) {
      expect(await requestOtp(other.phone, { refreshToken }, app)).toMatchObject({ code: "RATE_LIMITED" });
    }
    expect(await requestOtp(other.phone, {}, app)).toMatchObject({ code: "RATE_LIMITED" });
    expect(await requestOtp(other.phone, { refreshToken: other.refreshToken }, app)).toHaveProperty("otpId");
  });

  test("has its own limit on one-time password requests, and a limit on the attempts to enter each code", async () => {
    const { phone, refreshToken } = await signedIn();
    const idempotencyKey = randomUUID();
    const ask = () =>
      requestOtp(phone, { refreshToken, idempotencyKey }, app) as Promise<{ otpId: string; code?: string }>;
    const [first, ...more] = [await ask(), await ask(), await ask(), await ask()];
    expect(more.map(({ code }) => code)).toEqual([undefined, undefined, "RATE_LIMITED"]);
    const { code } = await gateway.next(first.otpId);
    expect(await verify(first.otpId, code!)).toMatchObject({ __typename: "VerifyOtpPayload" });
    const repeats = [await verify(first.otpId, "1"), await verify(first.otpId, "1"), await verify(first.otpId, "1")];
    expect(repeats.map((answer) => (answer as { code: string }).code).at(-1)).toBe("RATE_LIMITED");
  });
});

/** Resolves once the job that sends the one-time password has completed. */
async function settled(otpId: string, at = service): Promise<void> {
  for (;;) {
    const { rows } = await at.app.database.pool.query<{ state: string }>(
      "select state::text from pgboss.job where data ->> 'otpId' = $1",
      [otpId],
    );
    if (rows[0]?.state === "completed") return;
    await sleep(20);
  }
}
