import { expect, test } from "vitest";
import { startTestService } from "../fixtures/fixture.ts";

test.each([
  ["a sandbox", {}, "/docs"],
  ["a production", { ENVIRONMENT: "live" }, "/docs"],
  ["a deployment behind a proxy that removes a prefix", { PUBLIC_BASE_PATH: "/collections" }, "/collections/docs"],
  [
    "a deployment whose documentation is at another URL",
    { DOCUMENTATION_URL: "https://docs.lender.example" },
    "https://docs.lender.example/docs",
  ],
])("the path / of %s leads to the documentation, and no other method or path does", async (_, settings, target) => {
  const service = await startTestService({ hasWorker: false, settings });
  const answer = await fetch(`${service.url}/`, { redirect: "manual" });
  expect([answer.status, answer.headers.get("location")]).toEqual([302, target]);
  const others = [fetch(`${service.url}/`, { method: "POST" }), fetch(`${service.url}/index.html`)];
  const statuses = (await Promise.all(others)).map(({ status }) => status);
  expect(statuses).toEqual([404, 404]);
});

test("/llms.txt leads to the list of the documentation's Markdown files", async () => {
  const service = await startTestService({ hasWorker: false });
  const answer = await fetch(`${service.url}/llms.txt`);
  expect([answer.status, answer.url]).toEqual([200, `${service.url}/docs/llms.txt`]);
  expect(await answer.text()).toContain("- [Sign and verify](/docs/signing.md)");
});
