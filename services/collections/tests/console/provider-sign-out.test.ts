import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { ASHA, endFaults, type ProviderStage, startProviderStage } from "./fixtures/provider-stage.ts";
import {
  answerSignOut,
  aScriptedBrowser,
  type BrowserAnswer,
  type ScriptedBrowser,
  signedOutUri,
  type SignInProvider,
  signInAtProvider,
  startSignInProvider,
} from "./fixtures/sign-in-provider.ts";
import { aLenderVisitor, aSignedInVisitor, formTokenIn } from "./fixtures/visitor.ts";
import { aLender } from "../fixtures/fixture.ts";

let service: ProviderStage["service"];
let provider: SignInProvider;
let redirectUri: string;
let serverWith: ProviderStage["serverWith"];

beforeAll(async () => {
  ({ service, provider, redirectUri, serverWith } = await startProviderStage());
});

afterEach(() => endFaults(provider));

/** Signs in at a provider, and at a server of this test. */
async function signedIn(at = { url: service.url, provider }): Promise<ScriptedBrowser> {
  const browser = aScriptedBrowser();
  const url = await signInAtProvider(browser, { ...at, redirectUri }, { subject: "s-asha" });
  expect(await browser.send(url.replace(service.url, at.url))).toMatchObject({ status: 200 });
  return browser;
}

/** Sends the form of the sign-out, and opens the page to which it leads. */
async function signOut(browser: ScriptedBrowser, url = service.url): Promise<BrowserAnswer> {
  const formToken = formTokenIn(await browser.send(`${url}/console`));
  const form = { method: "POST", body: new URLSearchParams({ formToken }), headers: { Origin: service.url } };
  const sent = await browser.send(`${url}/console/sign-out`, form);
  expect(sent.status).toBe(303);
  expect(await browser.send(`${url}/console`)).toMatchObject({ status: 401 });
  return browser.send(url + sent.headers.get("location")!);
}

/** Follows the page after a sign-out to the provider. Returns the URL there, without opening it. */
async function urlAtProvider(browser: ScriptedBrowser, { text }: BrowserAnswer): Promise<string> {
  expect(text).toContain("You are signed out of the console.");
  const [, path] = /http-equiv="refresh" content="0; url='([^']+)'"/.exec(text)!;
  return browser.follow(await browser.send(service.url + path!), provider.issuer);
}

describe("a sign-out from the console", () => {
  test("goes on to the sign-out at the provider", async () => {
    const browser = await signedIn();
    const url = new URL(await urlAtProvider(browser, await signOut(browser)));
    expect(url.href.startsWith(`${provider.issuer}/session/end?`)).toBe(true);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: "console",
      post_logout_redirect_uri: signedOutUri(redirectUri),
    });
    const question = await browser.send(url.href);
    const back = await answerSignOut(browser, question, { redirectUri, isYes: true });
    expect(back).toBe(signedOutUri(redirectUri));
    const end = await browser.send(back);
    expect(end).toMatchObject({ status: 200, text: expect.stringContaining("unless you chose to stay") as string });
    // The provider asks for the subject again.
    const started = await browser.send(`${service.url}/console/oidc`);
    expect(await browser.follow(started, redirectUri)).toContain("/interaction/");
  });

  test("leaves a person signed in at the provider who chose so", async () => {
    const browser = await signedIn();
    const question = await browser.send(await urlAtProvider(browser, await signOut(browser)));
    await browser.send(await answerSignOut(browser, question, { redirectUri, isYes: false }));
    const started = await browser.send(`${service.url}/console/oidc`);
    const back = await browser.follow(started, redirectUri);
    expect(back.startsWith(redirectUri)).toBe(true);
    expect(await browser.send(`${service.url}/console`)).toMatchObject({ status: 401 });
  });

  test("does not lead to a provider that offers no sign-out", async () => {
    const plain = await startSignInProvider(redirectUri, { offersSignOut: false });
    plain.accounts.set("s-asha", ASHA);
    const { url } = await serverWith(plain.settings);
    const left = await signOut(await signedIn({ url, provider: plain }), url);
    expect(left).toMatchObject({ status: 303 });
    expect(left.headers.get("location")).toBe("/console/signed-out");
  });

  test("ends the session while the provider is away", async () => {
    const browser = await signedIn();
    const { app, url } = await serverWith({});
    const warned = vi.spyOn(app.log, "warn");
    browser.copyFrom({ ...browser, cookies: () => browser.cookies(`${service.url}/console`) }, `${url}/console`);
    provider.failsWith = 503;
    const left = await signOut(browser, url);
    expect(left.headers.get("location")).toBe("/console/signed-out");
    const end = await browser.send(`${url}/console/oidc/end-session`);
    expect(end.headers.get("location")).toBe("/console/signed-out");
    expect(JSON.stringify(warned.mock.calls)).toContain("answers 503");
  });

  test.each([
    ["an operator", () => aSignedInVisitor(service)],
    [
      "a lender's staff whose name looks like a provider's",
      async () => {
        const { code } = await aLender(service);
        return aLenderVisitor(service, code, `Ravi via ${new URL(provider.issuer).host}`);
      },
    ],
  ])("by a link does not lead to the provider: %s", async (_, visitorOf) => {
    const visitor = await visitorOf();
    const formToken = formTokenIn(await visitor.get("/console"));
    const sent = await visitor.post("/console/sign-out", { formToken });
    expect(sent.headers.get("location")).toBe("/console/signed-out");
  });
});
