import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

let service: TestService;
let lender: Awaited<ReturnType<typeof aLender>>;
beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
  lender = await aLender(service);
});

describe("a loan number with a slash", () => {
  test("is found if its path arrives as it was sent", async () => {
    await lender.importCases([aRow("A/B")]);
    expect(await lender.call("GET", "/api/v1/partner/cases/A%2FB")).toMatchObject({ status: 200 });
  });

  test.each(["/api/v1/partner/cases/A/B", "/api/v1/partner/cases/A/B/payments/confirm"])(
    "gets a 404 that names the proxy if its path arrives as %s",
    async (path) => {
      const answer = await fetch(service.url + path);
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({
        code: "ROUTE_NOT_FOUND",
        detail: `There is nothing at ${path}. A / in a loan number is sent as %2F. If you sent %2F, a proxy has decoded it: the service's operator must configure the proxy to keep the path as it is.`,
      });
    },
  );
});

test("Strict-Transport-Security speaks for this host alone", async () => {
  const { headers } = await fetch(`${service.url}/healthz`);
  expect(headers.get("strict-transport-security")).toMatch(/^max-age=\d+$/);
});
