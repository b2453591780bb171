import { createServer, request as requestOf } from "node:http";
import type { AddressInfo } from "node:net";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { Problem, problemBody, PROBLEM_CODES } from "../../src/http/problem.ts";
import { startTestService, type TestService } from "../fixtures/fixture.ts";
import { answerTo } from "../fixtures/raw-socket.ts";

const BASE_PATH = "/collections";

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

/** Starts another service on the same database, with these settings. */
function serviceWith(settings: Record<string, string>): Promise<TestService> {
  return startTestService({ hasWorker: false, settings: { DATABASE_URL: service.databaseUrl, ...settings } });
}

/** Starts a proxy that removes `BASE_PATH` from the paths of requests, and returns the proxy's URL. */
async function proxyOf(target: string): Promise<string> {
  const proxy = createServer(({ method, url = "", headers }, response) => {
    if (!url.startsWith(`${BASE_PATH}/`)) {
      response.writeHead(404).end("not below the base path");
      return;
    }
    const { hostname, port } = new URL(target);
    const forwarded = { hostname, port, path: url.slice(BASE_PATH.length), method, headers };
    requestOf(forwarded, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    }).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  afterFile(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${BASE_PATH}`;
}

/** The pages that this file has read, by their URLs without anchors. */
const pages = new Map<string, Promise<string>>();

/**
 * Follows a `type`, as a browser does, from the URL of the request that was answered. Returns the URL that the type
 * leads to, and whether the page there has an element with the name in the URL's anchor.
 */
async function followed(type: string, requestUrl: string): Promise<{ url: URL; isAnchor: boolean }> {
  const first = new URL(type, requestUrl);
  const { status, headers } = await fetch(first, { redirect: "manual" });
  const url = status === 301 ? new URL(headers.get("location")!, first) : first;
  const page = url.href.split("#", 1)[0]!;
  if (!pages.has(page)) {
    pages.set(
      page,
      fetch(page).then(async (answer) => (answer.ok ? answer.text() : `${page} answered ${answer.status}`)),
    );
  }
  return { url, isAnchor: url.hash !== "" && (await pages.get(page)!).includes(` id="${url.hash.slice(1)}"`) };
}

/** Returns for each code what its `type` leads to, starting from the URL of the request that was answered. */
async function pagesOfAllCodes({ app }: TestService, requestUrl: string) {
  const found: { code: string; url: string; isAnchor: boolean }[] = [];
  for (const code of PROBLEM_CODES) {
    const { type } = problemBody(new Problem(code, ""), "", app.config.documentationUrl);
    const { url, isAnchor } = await followed(String(type), requestUrl);
    found.push({ code, url: url.href, isAnchor });
  }
  return found;
}

/** The row of each code in the page of errors, if the documentation is at `site`. */
function rowsOfAllCodes(site: string) {
  return PROBLEM_CODES.map((code) => ({ code, url: `${site}/docs/errors#${code}`, isAnchor: true }));
}

describe("the type of every problem code leads to the row of the code in the page of errors", () => {
  test("at the service itself, without any setting", async () => {
    expect(await pagesOfAllCodes(service, `${service.url}/api/v1/partner/cases/LN-1`)).toEqual(
      rowsOfAllCodes(service.url),
    );
  });

  test("behind a proxy that removes PUBLIC_BASE_PATH", async () => {
    const behind = await serviceWith({ PUBLIC_BASE_PATH: BASE_PATH });
    const proxy = await proxyOf(behind.url);
    expect(await pagesOfAllCodes(behind, `${proxy}/api/v1/partner/cases/LN-1`)).toEqual(rowsOfAllCodes(proxy));
  });

  test("below DOCUMENTATION_URL, if it is set", async () => {
    const elsewhere = await serviceWith({ DOCUMENTATION_URL: `${service.url}/` });
    expect(await pagesOfAllCodes(elsewhere, `${elsewhere.url}/api/v1/partner/cases/LN-1`)).toEqual(
      rowsOfAllCodes(service.url),
    );
  });
});

describe("with DOCUMENTATION_URL, the type is an absolute URL", () => {
  const DOCUMENTATION_URL = "https://docs.lender.example/collections";
  let documented: TestService;

  beforeAll(async () => {
    documented = await serviceWith({ DOCUMENTATION_URL });
  });

  test.each([
    ["an endpoint", "GET /api/v1/partner/health HTTP/1.1\r\nHost: service\r\n", "MISSING_AUTHORIZATION"],
    ["a path that does not exist", "GET /api/v1/partner/other HTTP/1.1\r\nHost: service\r\n", "ROUTE_NOT_FOUND"],
    ["a request without Host", "GET /api/v1/partner/health HTTP/1.1\r\n", "MALFORMED_HTTP"],
    ["bytes that are not HTTP", "nothing\r\n", "MALFORMED_HTTP"],
  ])("in the answer of %s", async (_, head, code) => {
    const { body } = await answerTo(documented.url, `${head}Connection: close\r\n\r\n`);
    expect(body).toMatchObject({ code, type: `${DOCUMENTATION_URL}/errors/${code}` });
  });

  test("in the examples of the OpenAPI document that the service serves", async () => {
    const document = (await (await fetch(`${documented.url}/openapi.json`)).json()) as {
      components: { examples: Record<string, { value: { type: string } }> };
    };
    const types = Object.entries(document.components.examples).map(([code, { value }]) => [code, value.type]);
    expect(types).toEqual(PROBLEM_CODES.map((code) => [code, `${DOCUMENTATION_URL}/errors/${code}`]));
  });
});
