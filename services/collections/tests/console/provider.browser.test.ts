import { accessibilityFindings, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { startTestService } from "../fixtures/fixture.ts";
import { freePort, startSignInProvider } from "./fixtures/sign-in-provider.ts";

test("an operator signs in by a provider of another site, and out", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  // For Chromium, localhost and 127.0.0.1 are different sites: a strict cookie is not sent with the redirect back.
  const provider = await startSignInProvider(`${url}/console/oidc/callback`, { host: "localhost" });
  provider.accounts.set("s-asha", { email: "asha@bank.example", email_verified: true, roles: ["viewer"] });
  const settings = { ...provider.settings, PORT: String(port), PUBLIC_URL: url };
  await startTestService({ hasWorker: false, settings });
  const browser = await startBrowser();
  afterFile(() => browser.close());
  for (const screen of ["desktop", "phone"] as const) {
    const open = await browser.open(`${url}/console`, { screen });
    const { page } = open;
    const look = async (name: string) => {
      expect({ name, findings: await accessibilityFindings(page) }).toEqual({ name, findings: [] });
      expect({ name, overflow: await open.overflow() }).toEqual({ name, overflow: 0 });
      await open.screenshot(`console-provider-${name}`);
    };
    const signIn = async () => {
      await page.getByRole("link", { name: `Sign in with ${new URL(provider.issuer).host}` }).click();
    };
    await look("sign-in");
    await signIn();
    await page.getByLabel("Subject").fill("s-asha");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
    expect(page.url()).toBe(`${url}/console`);
    await page.getByText(`asha@bank.example via ${new URL(provider.issuer).host}`).waitFor();
    const cookies = await page.context().cookies(`${url}/console/oidc`);
    expect(cookies).toMatchObject([{ name: "console_session", httpOnly: true, sameSite: "Strict" }]);
    await look("today");
    const signOut = async (answer: string) => {
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("button", { name: answer }).click();
      await page.getByRole("heading", { level: 1, name: "Signed out" }).waitFor();
      expect(page.url()).toBe(`${url}/console/oidc/signed-out`);
    };
    await signOut("No, stay signed in");
    await look("signed-out");
    expect((await page.goto(`${url}/console`))!.status()).toBe(401);
    // The person is still signed in at the provider, which therefore asks nothing.
    await signIn();
    await page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
    await signOut("Yes, sign me out");
    await signIn();
    await page.getByLabel("Subject").waitFor();
    expect((await page.goto(`${url}/console/oidc/callback?error=access_denied&state=x`))!.status()).toBe(400);
    await look("refused");
    await open.close();
  }
});
