import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Browser, type OpenPage, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { decodeQR } from "qr/decode.js";
import { expect } from "vitest";

/** The narrowest phone that counts, and a usual one. */
export const WIDTHS = [360, 390] as const;
const HEIGHT = 740;
const SCAN_PIXELS = 480;
const SCREENSHOTS = fileURLToPath(new URL("../../../.data/screenshots", import.meta.url));

/** The app on a phone, as a person holds it. */
export interface HeldPhone extends OpenPage {
  /** Goes on when the app shows this heading. */
  at(heading: string | RegExp): Promise<void>;
  press(name: string | RegExp): Promise<void>;
  /** Takes the network away, or gives it back. */
  network(isOn: boolean): Promise<void>;
  /** Signs in with a token that an operator has issued. */
  signIn(accessToken: string): Promise<void>;
  /** What the QR code says whose description begins so, read from its pixels. */
  scan(description: string): Promise<string>;
  /** Looks at the screen at each width, by day and by night: nothing may stick out, and each leaves a picture. */
  look(name: string): Promise<void>;
}

export async function aBrowser(): Promise<Browser> {
  const browser = await startBrowser();
  afterFile(() => browser.close());
  return browser;
}

/** Opens the app; with a token, somebody is signed in already. */
export async function aPhone(browser: Browser, serviceUrl: string, accessToken?: string): Promise<HeldPhone> {
  const open = await browser.open(`${serviceUrl}/app`, { screen: "phone" });
  const { page } = open;
  await page.setViewportSize({ width: WIDTHS[0], height: HEIGHT });
  const phone: HeldPhone = {
    ...open,
    async at(heading) {
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    },
    async press(name) {
      await page.locator(":is(button, a, summary):visible").filter({ hasText: name }).first().click();
    },
    async network(isOn) {
      await page.context().setOffline(!isOn);
    },
    async signIn(accessToken) {
      await phone.at("Sign in");
      await phone.press("Use an access token instead");
      await page.getByLabel("Access token").fill(accessToken);
      await phone.press("Use this token");
      await phone.at(/^Good (morning|afternoon|evening), /);
    },
    async scan(description) {
      await page.getByRole("img", { name: description }).waitFor();
      const base64 = await page.evaluate<string>(pixelsOf(description));
      const data = Uint8Array.from(Buffer.from(base64, "base64"));
      return decodeQR({ width: SCAN_PIXELS, height: SCAN_PIXELS, data });
    },
    async look(name) {
      await mkdir(SCREENSHOTS, { recursive: true });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: HEIGHT });
        const content = await page.evaluate<number>("document.documentElement.scrollWidth");
        expect(content, `${name} at ${width} pixels`).toBeLessThanOrEqual(width);
      }
      await page.setViewportSize({ width: WIDTHS[0], height: HEIGHT });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.screenshot({ path: `${SCREENSHOTS}/app-${name}-${colorScheme}.png` });
      }
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    },
  };
  if (accessToken !== undefined) await phone.signIn(accessToken);
  return phone;
}

/** The pixels of the image whose description begins so, as base64: drawn by the browser, as a camera sees them. */
function pixelsOf(description: string): string {
  return `(async () => {
    const image = [...document.images].find(({ alt }) => alt.startsWith(${JSON.stringify(description)}));
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = ${SCAN_PIXELS};
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0, ${SCAN_PIXELS}, ${SCAN_PIXELS});
    const { data } = context.getImageData(0, 0, ${SCAN_PIXELS}, ${SCAN_PIXELS});
    return data.toBase64?.() ?? btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join(""));
  })()`;
}
