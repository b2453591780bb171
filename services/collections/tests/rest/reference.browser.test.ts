import { type Browser, type OpenPage, startBrowser } from "@collections/browser";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/rest/openapi/document.ts";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

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
    expect(page).toContain('href="/collections/openapi.json"');
    const health = await (await fetch(`${behind.url}/docs/reference/health`)).text();
    expect(health).toContain('data-path="/collections/api/v1/partner/health"');
  });
});

describe("the API reference", () => {
  beforeAll(async () => {
    open = await browser.open(`${service.url}/docs/reference/health`);
  });

  test("has a Content-Security-Policy that lets pages with endpoints connect to this origin only", async () => {
    const policies = await Promise.all(
      ["/docs/reference", "/docs/reference/health", "/docs/reference/problems"].map(async (path) => {
        const { headers } = await fetch(service.url + path);
        return headers.get("content-security-policy")!;
      }),
    );
    for (const policy of policies) {
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).not.toMatch(/https?:|unsafe|\*/);
    }
    const mayConnect = policies.map((policy) => /connect-src ([^;]+)/.exec(policy)?.[1]);
    expect(mayConnect).toEqual(["'none'", "'self'", "'none'"]);
  });

  test("has a section for every operation and webhook of the OpenAPI document, and lists all endpoints first", async () => {
    const { paths, webhooks } = openApiDocument();
    const idsOf = (all: object): string[] =>
      Object.values(all).flatMap((methods: object) =>
        Object.values(methods).map(({ operationId }: { operationId: string }) => operationId),
      );
    const operations = idsOf(paths);
    const overview = await (await fetch(`${service.url}/docs/reference`)).text();
    const pages = new Map<string, string>();
    for (const id of [...operations, ...idsOf(webhooks)]) {
      const [, path = ""] = new RegExp(`href="(/docs/reference/[a-z]+)#${id}"`).exec(overview) ?? [];
      if (!pages.has(path)) pages.set(path, await (await fetch(service.url + path)).text());
      expect(pages.get(path)).toContain(`<h2 id="${id}">`);
    }
    expect(pages.size).toBe(8);
  });

  test("shows the parameters, the body, the answers and the error codes of an operation", async () => {
    const { page } = await browser.open(`${service.url}/docs/reference/payments#confirmPayment`);
    const section = page.getByRole("region", { name: "Book a captured payment, exactly once" });
    expect(await section.getByText("POST /api/v1/partner/cases/{loan}/payments/confirm").count()).toBe(1);
    expect(await section.locator("dt", { hasText: "loan" }).first().textContent()).toBe("loan string");
    expect(await section.locator("dt", { hasText: "reference" }).first().isVisible()).toBe(true);
    expect(await section.locator(".status").allTextContents()).toEqual(expect.arrayContaining(["200", "409", "422"]));
    expect(await section.getByRole("link", { name: "DUPLICATE_CONFIRMATION" }).getAttribute("href")).toBe(
      "/docs/errors#DUPLICATE_CONFIRMATION",
    );
  });

  test("leads an old link to an operation to its section", async () => {
    const { page } = await browser.open(`${service.url}/docs/reference#/Payments/confirmPayment`);
    await expect.poll(() => page.url()).toBe(`${service.url}/docs/reference/payments#confirmPayment`);
  });

  test("signs a tried request in the browser, and neither sends nor stores the secret", async () => {
    const sent: { url: string; headers: object; body: string | null }[] = [];
    open.page.on("request", (request) => {
      sent.push({ url: request.url(), headers: request.headers(), body: request.postData() });
    });
    expect(await tried("health", "Check your signature")).toContain(`"lenderCode": "${lender.code}"`);
    const calls = sent.filter(({ url }) => url.includes("/api/"));
    expect(calls).toMatchObject([{ url: `${service.url}/api/v1/partner/health` }]);
    expect(Object.keys(calls[0]!.headers)).toContain("x-service-signature");
    const [[, secret] = ["", ""]] = lender.secrets;
    const stored = await open.page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])");
    const shown = await open.page.locator("body").textContent();
    expect(JSON.stringify(sent) + String(stored) + shown).not.toContain(secret);
  });

  test("signs the exact body and the path that the browser encodes", async () => {
    await lender.importCases([aRow("MUM/2023 ü'1")]);
    expect(await tried("cases", "Import cases, or check them in a dry run")).toContain('"received": 3');
    const answer = await tried("cases", "Read the state of a loan's current case", async (operation) => {
      await operation.getByLabel("loan").fill("MUM/2023 ü'1");
    });
    expect(answer).toContain(`"sourceLoanNumber": "MUM/2023 ü'1"`);
  });

  test("shows the service's 401 when no key is filled in", async () => {
    const answer = await tried("deliveries", "List your events and the state of their delivery", async () => {
      await open.page.getByLabel("Key id").fill("");
    });
    expect(answer).toContain("MISSING_AUTHORIZATION");
  });

  test("has logged no unexpected error and sent no request to another origin in all these tests", () => {
    // Browsers log every 401 response as an error.
    expect(open.errors.filter((error) => !error.includes("status of 401"))).toEqual([]);
    expect(open.requestsElsewhere()).toEqual([]);
  });
});

async function fillKey(): Promise<void> {
  const [[keyId, secret] = ["", ""]] = lender.secrets;
  await open.page.getByLabel("Key id").fill(keyId);
  await open.page.getByLabel("Secret").fill(secret);
}

type Operation = ReturnType<OpenPage["page"]["locator"]>;

/** Tries the operation with this summary on a page of the reference, and returns the answer that the page shows. */
async function tried(name: string, summary: string, fill?: (operation: Operation) => Promise<void>): Promise<string> {
  await open.page.goto(`${service.url}/docs/reference/${name}`, { waitUntil: "networkidle" });
  await fillKey();
  const operation = open.page.getByRole("region", { name: summary });
  await operation.locator("summary", { hasText: "Try it" }).click();
  await fill?.(operation.getByRole("form"));
  await operation.getByRole("button", { name: "Send the request" }).click();
  const answer = operation.getByRole("group", { name: "Body of the answer" });
  await answer.waitFor();
  return (await answer.textContent()) ?? "";
}
