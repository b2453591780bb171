import { actsOnOperators, openOperatorSessions } from "@collections/operators";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { ASHA, endFaults, type ProviderStage, startProviderStage } from "./fixtures/provider-stage.ts";
import {
  aScriptedBrowser,
  type BrowserAnswer,
  type ScriptedBrowser,
  type SignInProvider,
  signInAtProvider,
  startSignInProvider,
} from "./fixtures/sign-in-provider.ts";
import { aVisitor } from "./fixtures/visitor.ts";

const ASHA_NAME = "asha@bank.example via";

let service: TestService;
let provider: SignInProvider;
let redirectUri: string;
let serverWith: ProviderStage["serverWith"];

beforeAll(async () => {
  ({ service, provider, redirectUri, serverWith } = await startProviderStage());
});

afterEach(() => {
  endFaults(provider);
  vi.useRealTimers();
});

/** Signs in at the provider and returns the URL of the callback at a server of this test. */
async function callback(
  browser: ScriptedBrowser,
  answer: { subject: string } | { error: string } = { subject: "s-asha" },
  at: { readonly url: string } = service,
): Promise<string> {
  const url = await signInAtProvider(browser, { url: at.url, provider, redirectUri }, answer);
  return url.replace(service.url, at.url);
}

async function openSessions() {
  return openOperatorSessions(service.app.database.em(), new Date());
}

/** Sends a callback, and expects that it signs nobody in. Returns the answer. */
async function refusedAnswer(browser: ScriptedBrowser, url: string): Promise<BrowserAnswer> {
  const before = await openSessions();
  const answer = await browser.send(url);
  expect(browser.cookies(`${service.url}/console`).has("console_session")).toBe(false);
  expect(await openSessions()).toEqual(before);
  return answer;
}

describe("a sign-in by the provider", () => {
  test("starts a strict session of the operator with the known roles", async () => {
    const browser = aScriptedBrowser();
    const started = await browser.send(`${service.url}/console/oidc`);
    expect(started.status).toBe(303);
    const asked = new URL(started.headers.get("location")!);
    expect(asked.href.startsWith(`${provider.issuer}/auth?`)).toBe(true);
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      redirect_uri: redirectUri,
      response_type: "code",
      scope: "openid email profile",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    expect(started.headers.get("set-cookie")).toMatch(
      /^console_sign_in=[^;]+; Path=\/console\/oidc; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    );
    const answer = await browser.send(await callback(browser));
    expect(answer).toMatchObject({
      status: 200,
      text: expect.stringContaining(`You are signed in as ${ASHA_NAME}`) as string,
    });
    expect(answer.text).toContain(`<meta http-equiv="refresh" content="0; url='/console'" />`);
    const [session, attempt] = answer.headers.getSetCookie();
    expect(session).toMatch(
      /^console_session=ops_[\w-]{43}; Path=\/console; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    expect(attempt).toMatch(/^console_sign_in=; Path=\/console\/oidc; Expires=Thu, 01 Jan 1970/);
    const page = await browser.send(`${service.url}/console`);
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining(ASHA_NAME) as string });
    const [open] = await openSessions();
    expect(open).toMatchObject({ name: `${ASHA_NAME} ${new URL(provider.issuer).host}`, roles: ["viewer", "money"] });
  });

  test("is in the audit with issuer and subject", async () => {
    const browser = aScriptedBrowser();
    await browser.send(await callback(browser));
    const [act] = await actsOnOperators(service.app.database.em(), { act: "operator.signed_in", limit: 1 });
    expect(act).toMatchObject({
      actor: expect.stringContaining(`operator:${ASHA_NAME}`) as string,
      data: { issuer: provider.issuer, subject: "s-asha", roles: ["viewer", "money"] },
    });
  });

  test("ends with a revocation", async () => {
    const browser = aScriptedBrowser();
    await browser.send(await callback(browser));
    expect(await browser.send(`${service.url}/console`)).toMatchObject({ status: 200 });
    const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
    const { operators } = (await cli.json("operator", "list")) as { operators: { name: string }[] };
    const { name } = operators[0]!;
    expect(name).toBe(`${ASHA_NAME} ${new URL(provider.issuer).host}`);
    expect(await cli.json("operator", "revoke", name)).toMatchObject({ name, links: 0 });
    expect(await browser.send(`${service.url}/console`)).toMatchObject({ status: 401 });
  });

  test("is finished by another process than the one that began it", async () => {
    const other = await serverWith({});
    const browser = aScriptedBrowser();
    const url = (await callback(browser)).replace(service.url, other.url);
    browser.copyFrom({ ...browser, cookies: () => browser.cookies(redirectUri) }, url);
    expect(await browser.send(url)).toMatchObject({ status: 200, text: expect.stringContaining(ASHA_NAME) as string });
  });

  test("takes claims from the userinfo endpoint if the ID token lacks them", async () => {
    const plain = await startSignInProvider(redirectUri, { hasClaimsInIdToken: false });
    plain.accounts.set("s-asha", ASHA);
    const other = await serverWith(plain.settings);
    const browser = aScriptedBrowser();
    const at = { url: other.url, provider: plain, redirectUri };
    const url = (await signInAtProvider(browser, at, { subject: "s-asha" })).replace(service.url, other.url);
    expect(await browser.send(url)).toMatchObject({ status: 200, text: expect.stringContaining(ASHA_NAME) as string });
    expect(plain.requests).toContain("GET /me");
  });

  test("obeys the settings of the claims", async () => {
    const claims = { CONSOLE_OIDC_ROLES_CLAIM: "realm_access.roles", CONSOLE_OIDC_NAME_CLAIM: "sub" };
    const other = await serverWith(claims);
    const browser = aScriptedBrowser();
    const answer = await browser.send(await callback(browser, { subject: "s-nested" }, other));
    expect(answer).toMatchObject({ status: 200, text: expect.stringContaining("signed in as s-nested via") as string });
    expect((await openSessions())[0]).toMatchObject({ roles: ["operator"] });
  });

  test("has a secure cookie and the callback of PUBLIC_URL in production", async () => {
    const live = await serverWith({
      ENVIRONMENT: "live",
      CONSOLE: "on",
      PUBLIC_URL: "https://desk.example",
      PUBLIC_BASE_PATH: "/desk",
    });
    const started = await aScriptedBrowser().send(`${live.url}/console/oidc`);
    expect(started.headers.get("set-cookie")).toMatch(
      /; Path=\/desk\/console\/oidc; .*; HttpOnly; Secure; SameSite=Lax$/,
    );
    const asked = new URL(started.headers.get("location")!);
    expect(asked.searchParams.get("redirect_uri")).toBe("https://desk.example/desk/console/oidc/callback");
  });
});

describe("a callback signs nobody in", () => {
  test("that was sent before", async () => {
    const browser = aScriptedBrowser();
    const url = await callback(browser);
    const again = aScriptedBrowser();
    again.copyFrom(browser, url);
    expect(await browser.send(url)).toMatchObject({ status: 200 });
    expect(await refusedAnswer(again, url)).toMatchObject({ status: 403 });
    const forgotten = aScriptedBrowser();
    expect(await refusedAnswer(forgotten, url)).toMatchObject({ status: 400 });
  });

  test("that was sent several times at once, more than once", async () => {
    provider.exchangesCodesAgain = true;
    const browser = aScriptedBrowser();
    const url = await callback(browser);
    const before = await openSessions();
    const browsers = Array.from({ length: 5 }, () => aScriptedBrowser());
    for (const one of browsers) one.copyFrom(browser, url);
    const statuses = (await Promise.all(browsers.map((one) => one.send(url)))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(await openSessions()).toHaveLength(before.length + 1);
  });

  test("of another browser", async () => {
    const [attacker, victim] = [aScriptedBrowser(), aScriptedBrowser()];
    const url = await callback(attacker);
    const expired = { status: 400, text: expect.stringContaining("This sign-in cannot be finished") as string };
    expect(await refusedAnswer(victim, url)).toMatchObject(expired);
    await victim.send(`${service.url}/console/oidc`);
    expect(await refusedAnswer(victim, url)).toMatchObject(expired);
  });

  test("after ten minutes", async () => {
    const browser = aScriptedBrowser();
    const url = await callback(browser);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10 * 60_000 });
    expect(await refusedAnswer(browser, url)).toMatchObject({ status: 400 });
  });

  test("with an attempt that this service has not sealed", async () => {
    const browser = aScriptedBrowser();
    const url = await callback(browser);
    const { state } = Object.fromEntries(new URL(url).searchParams);
    const plain = JSON.stringify({ id: "x", state, nonce: "n", verifier: "v", expiresAtMs: Date.now() + 60_000 });
    for (const token of ["", "x", "%", plain, `v1:${service.app.vault.masterKeyId}:AAAA`]) {
      const answer = await aScriptedBrowser().send(url, { headers: { Cookie: `console_sign_in=${encodeURI(token)}` } });
      expect({ token, status: answer.status }).toEqual({ token, status: 400 });
    }
    expect(await browser.send(url)).toMatchObject({ status: 200 });
  });

  test("of a person who refused at the provider", async () => {
    const browser = aScriptedBrowser();
    const answer = await refusedAnswer(browser, await callback(browser, { error: "access_denied" }));
    expect(answer).toMatchObject({
      status: 403,
      text: expect.stringContaining("Its reason: access_denied.") as string,
    });
    expect(browser.cookies(redirectUri).has("console_sign_in")).toBe(false);
  });

  test.each([
    ["another state", { state: "x".repeat(43) }, 400],
    ["another issuer", { iss: "https://evil.example" }, 403],
    ["another code", { code: "x".repeat(43) }, 403],
    ["an error with markup", { error: "<b>" }, 403],
  ])("with %s in its query", async (_, changed, status) => {
    const browser = aScriptedBrowser();
    const url = new URL(await callback(browser));
    for (const [name, value] of Object.entries(changed)) url.searchParams.set(name, value);
    const answer = await refusedAnswer(browser, url.href);
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain("<b>");
  });

  test.each<[string, NonNullable<SignInProvider["alter"]>]>([
    ["audience", (claims) => (claims["aud"] = "another client")],
    ["second audience without azp", (claims) => (claims["aud"] = ["console", "another client"])],
    ["nonce", (claims) => (claims["nonce"] = "x")],
    ["missing nonce", (claims) => delete claims["nonce"]],
    ["issuer", (claims) => (claims["iss"] = "https://evil.example")],
    ["expiry in the past", (claims) => (claims["exp"] = Math.floor(Date.now() / 1_000) - 3_600)],
    ["missing subject", (claims) => delete claims["sub"]],
    ["key", (_, header) => (header["kid"] = "key-2")],
    ["algorithm none", (_, header) => (header["alg"] = "none")],
    ["algorithm HS256", (_, header) => (header["alg"] = "HS256")],
  ])("whose ID token has a wrong %s", async (_, alter) => {
    const browser = aScriptedBrowser();
    const url = await callback(browser);
    provider.alter = alter;
    expect(await refusedAnswer(browser, url)).toMatchObject({
      status: 403,
      text: expect.stringContaining("The sign-in was refused") as string,
    });
  });

  test.each<[string, NonNullable<SignInProvider["replace"]>]>([
    ["no ID token", (answer) => delete answer["id_token"]],
    ["an ID token with other roles", (answer) => withRoles(answer, ["operator"])],
    ["an ID token without its signature", (answer) => (answer["id_token"] = cut(answer["id_token"] as string))],
  ])("whose answer has %s", async (_, replace) => {
    const browser = aScriptedBrowser();
    const url = await callback(browser);
    provider.replace = replace;
    expect(await refusedAnswer(browser, url)).toMatchObject({ status: 403 });
  });

  test("of a person without a known role", async () => {
    const browser = aScriptedBrowser();
    expect(await refusedAnswer(browser, await callback(browser, { subject: "s-none" }))).toMatchObject({
      status: 403,
      text: expect.stringContaining("none of the roles viewer, operator and money in the claim roles") as string,
    });
  });

  test("of a person whose e-mail address is not verified", async () => {
    const browser = aScriptedBrowser();
    expect(await refusedAnswer(browser, await callback(browser, { subject: "s-unverified" }))).toMatchObject({
      status: 403,
      text: expect.stringContaining("no e-mail address of yours that it has verified") as string,
    });
  });

  test("while the provider is away", async () => {
    const browser = aScriptedBrowser();
    const url = await callback(browser);
    provider.failsWith = 500;
    expect(await refusedAnswer(browser, url)).toMatchObject({
      status: 503,
      text: expect.stringContaining("does not answer as expected") as string,
    });
  });
});

test("the log has the cause of a refusal, and no token, code or claim", async () => {
  const other = await serverWith({ CONSOLE_OIDC_CLIENT_SECRET: "another secret" });
  const warned = [service, other].map(({ app }) => vi.spyOn(app.log, "warn"));
  const browser = aScriptedBrowser();
  const url = await callback(browser, { subject: "s-asha" }, other);
  expect(await refusedAnswer(browser, url)).toMatchObject({ status: 403 });
  for (const subject of ["s-none", "s-unverified"]) {
    const person = aScriptedBrowser();
    await person.send(await callback(person, { subject }));
  }
  const second = aScriptedBrowser();
  const answered = await callback(second);
  provider.alter = (claims) => (claims["nonce"] = "x");
  await second.send(answered);
  const lines = warned.flatMap(({ mock }) => mock.calls.map((call) => JSON.stringify(call)));
  expect(lines.join("\n")).toMatch(/no_role[^]*no_name[^]*nonce[^]*status 401/);
  const secrets = [url, answered].flatMap((one) => [...new URL(one).searchParams.values()].slice(0, 2));
  for (const secret of [...secrets, "bank.example", "another secret", "eyJ"]) {
    expect({ secret, isLogged: lines.some((line) => line.includes(secret)) }).toEqual({ secret, isLogged: false });
  }
});

test("the pages without a session link to the provider", async () => {
  const { host } = new URL(provider.issuer);
  for (const path of ["/console", "/console/cases", "/console/signed-out", `/console/sign-in/opl_${"A".repeat(43)}`]) {
    const { text } = await aVisitor(service).get(path);
    expect(text).toContain(`<a class="button" href="/console/oidc">Sign in with ${host}</a>`);
  }
});

test("a console without a provider has no sign-in by one", async () => {
  const plain = await startTestService({ hasWorker: false, settings: { DATABASE_URL: service.databaseUrl } });
  for (const path of ["/console/oidc", "/console/oidc/callback?code=c&state=s"]) {
    expect(await aVisitor(plain).get(path)).toMatchObject({ status: 404 });
  }
  expect((await aVisitor(plain).get("/console")).text).not.toContain("/console/oidc");
});

function withRoles(answer: Record<string, unknown>, roles: readonly string[]): void {
  const [header, claims, signature] = (answer["id_token"] as string).split(".");
  const read = JSON.parse(Buffer.from(claims!, "base64url").toString()) as object;
  const changed = Buffer.from(JSON.stringify({ ...read, roles })).toString("base64url");
  answer["id_token"] = [header, changed, signature].join(".");
}

function cut(token: string): string {
  return token.slice(0, token.lastIndexOf(".") + 1);
}
