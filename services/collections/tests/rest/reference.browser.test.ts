import { type Browser, type OpenPage, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

/** A timeout that is long enough for a real browser on a busy machine. */
const BROWSER_TIMEOUT_MS = 60_000;

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
let browser: Browser;
let open: OpenPage;

beforeAll(async () => {
  [service, browser] = await Promise.all([startTestService({ hasWorker: false }), startBrowser()]);
  afterFile(() => browser.close());
  lender = await aLender(service);
});

describe("the OpenAPI document", () => {
  test("is served at /openapi.json with an ETag", async () => {
    const answer = await fetch(`${service.url}/openapi.json`);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument())));
    const headers = { "If-None-Match": answer.headers.get("etag")!, "Cache-Control": "max-age=0" };
    expect((await fetch(`${service.url}/openapi.json`, { headers })).status).toBe(304);
  });

  test("contains PUBLIC_BASE_PATH, the prefix that a proxy removes", async () => {
    const behind = await startTestService({ hasWorker: false, settings: { PUBLIC_BASE_PATH: "/collections" } });
    const document = await (await fetch(`${behind.url}/openapi.json`)).json();
    expect(document).toMatchObject({ servers: [{ url: "/collections" }] });
    const page = await (await fetch(`${behind.url}/docs/reference`)).text();
    expect(page).toContain('data-document="/collections/openapi.json"');
    expect(page).toMatch(/data-library="\/collections\/docs\/swagger-ui\/[\d.]+\/swagger-ui-bundle\.js"/);
  });
});

describe("the API reference page", { timeout: BROWSER_TIMEOUT_MS }, () => {
  beforeAll(async () => {
    open = await browser.open(`${service.url}/docs/reference`);
    await open.page.getByText("Check your signature").waitFor({ timeout: BROWSER_TIMEOUT_MS });
  }, BROWSER_TIMEOUT_MS);

  test("has a Content-Security-Policy that allows this origin only", async () => {
    const { headers } = await fetch(`${service.url}/docs/reference`);
    const policy = headers.get("content-security-policy")!;
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain("connect-src 'self';");
    expect(policy).not.toMatch(/https?:|unsafe|\*/);
  });

  test("serves the Swagger UI bundle as immutable under its version, and no other file of that package", async () => {
    const page = await (await fetch(`${service.url}/docs/reference`)).text();
    const [library = ""] = /\/docs\/swagger-ui\/[\d.]+\/swagger-ui-bundle\.js/.exec(page) ?? [];
    const { status, headers } = await fetch(service.url + library);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    for (const other of ["package.json", "swagger-ui-bundle.js.map", "..%2Findex.js"]) {
      expect((await fetch(service.url + library.replace("swagger-ui-bundle.js", other))).status).toBe(404);
    }
    expect((await fetch(service.url + library.replace(/[\d.]+\/swagger/, "1.0.0/swagger"))).status).toBe(404);
  });

  test("shows every operation and webhook of the OpenAPI document", async () => {
    const { paths, webhooks } = openApiDocument();
    const operations = Object.values(paths).flatMap((methods) => Object.keys(methods));
    expect(await open.page.locator(".opblock").count()).toBe(operations.length + Object.keys(webhooks).length);
    await open.screenshot("reference");
  });

  test("fits a phone's screen with an operation expanded", async () => {
    const phone = await browser.open(`${service.url}/docs/reference#/Payments/confirmPayment`, { screen: "phone" });
    await phone.page.getByText("The payment is booked already").first().waitFor({ timeout: BROWSER_TIMEOUT_MS });
    expect(await phone.overflow()).toBe(0);
    expect(phone.errors).toEqual([]);
    expect(phone.requestsElsewhere()).toEqual([]);
    await phone.screenshot("reference");
    await phone.close();
  });

  test("signs a tried request in the browser, and neither sends nor stores the secret", async () => {
    const secret = await fillKey();
    const sent: { url: string; headers: object; body: string | null }[] = [];
    open.page.on("request", (request) => {
      sent.push({ url: request.url(), headers: request.headers(), body: request.postData() });
    });
    expect(await tried("Check your signature")).toContain(`"lenderCode": "${lender.code}"`);
    expect(sent).toMatchObject([{ url: `${service.url}/api/v1/partner/health` }]);
    expect(Object.keys(sent[0]!.headers)).toContain("x-service-signature");
    const stored = await open.page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])");
    const shown = await open.page.locator("body").textContent();
    expect(JSON.stringify(sent) + String(stored) + shown).not.toContain(secret);
  });

  test("signs the exact body and the path that the browser encodes", async () => {
    await fillKey();
    await lender.importCases([aRow("MUM/2023 ü'1")]);
    expect(await tried("Import cases, or check them in a dry run")).toContain('"received": 3');
    const answer = await tried("Read the state of a loan's current case", async (operation) => {
      await operation.getByPlaceholder("loan", { exact: true }).fill("MUM/2023 ü'1");
    });
    expect(answer).toContain(`"sourceLoanNumber": "MUM/2023 ü'1"`);
  });

  test("shows the service's 401 when no key is filled in", async () => {
    await open.page.getByLabel("Key id").fill("");
    expect(await tried("List your events and the state of their delivery")).toContain("MISSING_AUTHORIZATION");
  });

  test("has logged no unexpected error and sent no request to another origin in all these tests", () => {
    // Browsers log every 401 response as an error.
    expect(open.errors.filter((error) => !error.includes("status of 401"))).toEqual([]);
    expect(open.requestsElsewhere()).toEqual([]);
  });
});

async function fillKey(): Promise<string> {
  const [[keyId, secret] = ["", ""]] = lender.secrets;
  await open.page.getByLabel("Key id").fill(keyId);
  await open.page.getByLabel("Secret").fill(secret);
  return secret;
}

type Operation = ReturnType<OpenPage["page"]["locator"]>;

/** Tries out the operation with this summary and returns the response that the page shows. */
async function tried(summary: string, fill?: (operation: Operation) => Promise<void>): Promise<string> {
  const operation = open.page.locator(".opblock", { hasText: summary });
  await operation.locator(".opblock-summary").getByText(summary).click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await fill?.(operation);
  await operation.getByRole("button", { name: "Execute" }).click();
  const answer = operation.locator(".live-responses-table .highlight-code").first();
  await answer.waitFor();
  return (await answer.textContent()) ?? "";
}
