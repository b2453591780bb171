import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Browser, type OpenPage, type Screen, startBrowser } from "@collections/browser";
import { diagnose, type RequestToDiagnose } from "@collections/signing";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { serveDocumentation } from "./fixtures/serve-documentation.ts";

const SECRET = "sk_sandbox_4f1c0d6a9b7e4d2c8a3f5e6b7c8d9e0f";
const PATH = "/api/v1/partner/cases/MUM%2F2023%2F00123/payments/confirm";
const BODY = '{"amount":2500,"note":"आशा","link/id":1}';
const TIMESTAMP = String(Date.now());
const DESKTOP_AND_PHONE: readonly Screen[] = ["desktop", "phone"];

let url: string;
let browser: Browser;
let open: OpenPage;

beforeAll(async () => {
  const [origin, started] = await Promise.all([serveDocumentation(), startBrowser()]);
  url = `${origin}/docs/signature`;
  browser = started;
  afterFile(() => browser.close());
  open = await browser.open(url);
});

/** Returns a signature made by Node's HMAC over the given parts. */
function signed(parts: {
  method?: string;
  path?: string;
  timestamp?: string;
  body?: string | Buffer;
  secret?: string;
}) {
  const { method = "POST", path = PATH, timestamp = TIMESTAMP, body = BODY, secret = SECRET } = parts;
  return createHmac("sha256", secret).update(`${method}\n${path}\n${timestamp}\n`).update(body).digest("hex");
}

/** Fills the fields like a user and submits. Missing fields have the values of a correct request. */
async function ask({ page }: OpenPage, fields: Record<string, string>): Promise<void> {
  await page.getByRole("button", { name: "Clear" }).click();
  const all = { Method: "POST", Path: PATH, Timestamp: TIMESTAMP, "Body as text": BODY, Secret: SECRET, ...fields };
  await page.locator("details").evaluate((more) => more.setAttribute("open", ""));
  for (const [label, value] of Object.entries(all)) await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole("button", { name: "Find the mistake" }).click();
}

async function verdict({ page }: OpenPage): Promise<string | null> {
  return page.getByRole("region", { name: "Result" }).getByRole("heading", { level: 2 }).textContent();
}

async function causes({ page }: OpenPage): Promise<string[]> {
  return page.locator(".findings .cause").allTextContents();
}

describe("the debugger in the browser", () => {
  test("confirms a correct signature, and shows the text to sign", async () => {
    await ask(open, { Signature: signed({}) });
    expect(await verdict(open)).toBe("The signature is right");
    expect(await causes(open)).toEqual([]);
    const { canonicalSha256, bodySha256 } = diagnose(request(signed({})), { secret: SECRET }, Date.now());
    const result = open.page.getByRole("region", { name: "Result" });
    expect(await result.locator("pre").textContent()).toBe(`POST↵\n${PATH}↵\n${TIMESTAMP}↵\n${BODY}`);
    expect(await result.locator("dd code").allTextContents()).toEqual([canonicalSha256, bodySha256]);
  });

  test.each([
    ["a secret with a newline", { secret: `${SECRET}\n` }, ["SECRET_WITH_NEWLINE"]],
    ["a body that was serialised again", { body: JSON.stringify(JSON.parse(BODY), null, 2) }, ["BODY_PRETTY"]],
    ["a path that was decoded", { path: decodeURIComponent(PATH) }, ["PATH_DECODED"]],
    ["a timestamp in seconds", { timestamp: TIMESTAMP.slice(0, -3) }, ["TIMESTAMP_IN_SECONDS"]],
    ["two mistakes at once", { method: "post", secret: `"${SECRET}"` }, ["METHOD_IN_LOWER_CASE", "SECRET_QUOTED"]],
  ])("finds the mistake and names it: %s", async (_, mistake, expected) => {
    await ask(open, { Signature: signed(mistake) });
    expect(await verdict(open)).toBe(expected.length === 1 ? "Found the mistake" : "Found the mistakes");
    expect((await causes(open)).toSorted()).toEqual(expected.map((cause) => `${cause} · certain`));
  });

  test("finds mistakes that only the request's headers or other secrets reveal", async () => {
    const headers = "Host: api.example:8443\nAuthorization: Bearer lk_1";
    await ask(open, { Headers: headers, Signature: signed({ path: `https://api.example:8443${PATH}` }) });
    expect(await causes(open)).toEqual(["PATH_WITH_HOST · certain"]);
    await ask(open, { Headers: headers, Signature: signed({ secret: "lk_1" }) });
    expect(await causes(open)).toEqual(["SECRET_IS_KEY_ID · certain"]);
    await ask(open, {
      Headers: "",
      "Other secrets that may have been used": "sk_old",
      Signature: signed({ secret: "sk_old" }),
    });
    expect(await causes(open)).toEqual(["SECRET_OF_ANOTHER_KEY · certain"]);
  });

  test("lists possible causes if no known mistake gives the signature", async () => {
    await ask(open, { Signature: signed({ secret: "sk_live_of_somebody_else" }) });
    expect(await verdict(open)).toBe("No known mistake gives this signature");
    expect(await causes(open)).toContain("SECRET_OF_ANOTHER_KEY · possible");
  });

  test("warns about a timestamp in seconds if the signature is right", async () => {
    const seconds = TIMESTAMP.slice(0, -3);
    await ask(open, { Timestamp: seconds, Signature: signed({ timestamp: seconds }) });
    expect(await verdict(open)).toBe("The signature is right, but the request is still rejected");
    expect(await causes(open)).toEqual(["TIMESTAMP_IN_SECONDS · certain"]);
  });

  test("reads the exact bytes of a body in base64 or from a file", async () => {
    const body = Buffer.concat([Buffer.from("\uFEFF"), Buffer.from('{\r\n"a":1}')]);
    const { page } = open;
    await ask(open, { Signature: signed({ body }) });
    await page.getByRole("radio", { name: "Base64" }).check();
    await page.getByLabel("Body in base64").fill(body.toString("base64"));
    await page.getByRole("button", { name: "Find the mistake" }).click();
    expect(await verdict(open)).toBe("The signature is right");
    expect(await page.locator(".canonical").textContent()).toContain("BOM{␍↵");
    await page.getByRole("radio", { name: "File" }).check();
    await page
      .getByLabel("File with the body")
      .setInputFiles({ name: "b.json", mimeType: "application/json", buffer: body });
    await page.getByRole("button", { name: "Find the mistake" }).click();
    expect(await verdict(open)).toBe("The signature is right");
  });
});

describe("the secret", () => {
  test("never leaves the page: there is no request after loading", async () => {
    const fresh = await browser.open(url);
    const loaded = fresh.requests.length;
    await fresh.page.getByRole("button", { name: "Show an example" }).click();
    await ask(fresh, { Signature: signed({ secret: `${SECRET}\n` }) });
    await fresh.page.waitForLoadState("networkidle");
    expect(await causes(fresh)).toEqual(["SECRET_WITH_NEWLINE · certain"]);
    expect(fresh.requests.slice(loaded)).toEqual([]);
    expect(fresh.requestsElsewhere()).toEqual([]);
    expect(fresh.errors).toEqual([]);
  });

  test("is not stored: not in the URL, in storage, in a cookie or in the history", async () => {
    const { page } = open;
    await ask(open, { Signature: signed({}) });
    expect(page.url()).toBe(url);
    expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, history.state])")).toBe(
      '[{},{},"",null]',
    );
    expect(await page.evaluate("indexedDB.databases()")).toEqual([]);
    expect(await page.evaluate("[...new FormData(document.forms[0]).keys()]")).toEqual(["body"]);
    await page.reload();
    expect(await page.getByLabel("Secret", { exact: true }).inputValue()).toBe("");
  });

  test("cannot be sent anywhere, even by a script of the page", async () => {
    const { page } = await browser.open(url);
    const tries = await page.evaluate(async () => {
      const outcomes = await Promise.allSettled([fetch("/docs?secret"), fetch("https://elsewhere.example/?secret")]);
      return outcomes.map(({ status }) => status);
    });
    expect(tries).toEqual(["rejected", "rejected"]);
  });

  test("is hidden until the user shows it", async () => {
    const { page } = open;
    const field = page.getByLabel("Secret", { exact: true });
    await field.fill(SECRET);
    const covered = () => field.evaluate((input) => getComputedStyle(input).getPropertyValue("-webkit-text-security"));
    expect(await covered()).toBe("disc");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    expect(await covered()).toBe("none");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    expect(await covered()).toBe("disc");
  });
});

describe("the page", () => {
  test("fills the fields from a pasted curl command", async () => {
    const { page } = open;
    const signature = signed({ secret: `${SECRET}\n` });
    await page.getByLabel("A curl command").fill(`curl -X POST 'https://api.example${PATH}' \\
    -H 'X-Service-Timestamp: ${TIMESTAMP}' -H 'X-Service-Signature: ${signature}' --data-binary '${BODY}'`);
    expect(await page.getByRole("status").textContent()).toContain("The fields are filled");
    await page.getByLabel("Secret", { exact: true }).fill(SECRET);
    await page.getByLabel("Secret", { exact: true }).press("Enter");
    expect(await causes(open)).toEqual(["SECRET_WITH_NEWLINE · certain"]);
    await page.getByLabel("A curl command").fill("hello");
    expect(await page.getByRole("status").textContent()).toContain("neither a curl command");
  });

  test("shows what is missing at each field, and focuses the first one", async () => {
    const { page } = open;
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Path", { exact: true }).fill(PATH);
    await page.getByRole("button", { name: "Find the mistake" }).click();
    expect(await page.locator("[aria-invalid]").evaluateAll((fields) => fields.map(({ id }) => id))).toEqual([
      "method",
      "timestamp",
      "signature",
      "secret",
    ]);
    expect(await page.locator(":focus").getAttribute("id")).toBe("method");
    expect(await page.locator("#fault-method").textContent()).toBe("Such as GET or POST.");
    await page.getByRole("button", { name: "Show an example" }).click();
    expect(await page.locator("[aria-invalid], .fault").count()).toBe(0);
  });

  test("has a name for each field and button, and the keyboard reaches them in order", async () => {
    const { page } = await browser.open(url);
    const names: string[] = [];
    await page.getByLabel("A curl command").focus();
    for (let step = 0; step < 13; step += 1) {
      names.push(await page.locator(":focus").evaluate((field) => field.id || field.textContent));
      await page.keyboard.press("Tab");
    }
    expect(names).toEqual([
      "paste",
      "method",
      "path",
      "timestamp",
      "signature",
      "body-is-text",
      "body-text",
      "secret",
      "show-secret",
      "More details",
      "Find the mistake",
      "example",
      "Clear",
    ]);
    const nameless = await page.locator("form :is(input, textarea, button)").evaluateAll((fields) =>
      fields.filter((field) => {
        const labels = (field as HTMLInputElement).labels?.length ?? 0;
        return labels === 0 && !field.getAttribute("aria-label") && !field.textContent;
      }),
    );
    expect(nameless).toEqual([]);
  });

  test("signs and diagnoses in the browser exactly like Node", async () => {
    const { vectors } = JSON.parse(
      readFileSync(new URL(import.meta.resolve("@collections/signing/vectors.json")), "utf8"),
    ) as { vectors: { signature: string }[] };
    const requests = [{}, { secret: `${SECRET}\n` }, { body: `${BODY}\n` }, { secret: "sk_other" }].map((parts) =>
      request(signed(parts)),
    );
    const nowMs = Number(TIMESTAMP);
    const given = JSON.stringify({ vectors, requests, secret: SECRET, nowMs });
    const fromBrowser = await open.page.evaluate(`(async (given) => {${SIGN_AND_DIAGNOSE}})(${given})`);
    expect(fromBrowser).toEqual({
      signatures: vectors.map(({ signature }) => signature.toLowerCase()),
      diagnoses: requests.map((each) => diagnose(each, { secret: SECRET }, nowMs)),
    });
  });

  test.each(DESKTOP_AND_PHONE)("fits on a %s, also in dark mode", async (screen) => {
    const fresh = await browser.open(url, { screen });
    await fresh.page.getByRole("button", { name: "Show an example" }).click();
    expect(await verdict(fresh)).toBe("Found the mistake");
    for (const colorScheme of ["light", "dark"] as const) {
      await fresh.page.emulateMedia({ colorScheme });
      expect(await fresh.page.getByRole("region", { name: "Result" }).isVisible()).toBe(true);
      expect(await fresh.overflow()).toBe(0);
      await fresh.screenshot(`signature-${colorScheme}`);
    }
    expect(fresh.errors).toEqual([]);
  });
});

function request(signature: string): RequestToDiagnose {
  return { method: "POST", path: PATH, timestamp: TIMESTAMP, body: BODY, signature };
}

/**
 * A script that runs in the page, where Node and this file do not exist. It is a string, because the test runner would
 * rewrite the imports of a function.
 */
const SIGN_AND_DIAGNOSE = `
const { sign, diagnose } = await import("/docs/modules/signing/index.ts");
const bodyOf = ({ body, bodyBase64, bodyRepeat }) =>
  body ?? (bodyRepeat ? bodyRepeat.text.repeat(bodyRepeat.times) : Uint8Array.from(atob(bodyBase64), (c) => c.charCodeAt(0)));
const signatures = given.vectors.map((vector) => sign({ ...vector, body: bodyOf(vector) }));
const diagnoses = given.requests.map((each) => diagnose(each, { secret: given.secret }, given.nowMs));
return { signatures, diagnoses };
`;
