import { emptyDatabase } from "@collections/testing";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startProcess } from "../fixtures/processes.ts";

test("the bundle serves both APIs, the documentation and the field partner's app", async () => {
  const { url: DATABASE_URL } = await emptyDatabase();
  const { url } = await startProcess({ DATABASE_URL });

  const operation = JSON.stringify({ query: "{ __typename }" });
  const headers = { "content-type": "application/json" };
  const graphql = await fetch(`${url}/graphql`, { method: "POST", headers, body: operation });
  expect(await graphql.json()).toEqual({ data: { __typename: "Query" } });
  const unsigned = await fetch(`${url}/api/v1/partner/cases`, { method: "POST", headers, body: "{}" });
  expect(await unsigned.json()).toMatchObject({ status: 401 });
  const paths = [
    "/docs",
    "/docs/errors",
    "/docs/modules/pages/document.ts",
    "/openapi.json",
    "/app",
    "/app/shell.json",
  ];
  const answers = await Promise.all(paths.map(async (path) => (await fetch(`${url}${path}`)).status));
  expect(answers).toEqual(paths.map(() => 200));
});

test("a server that runs the bundle does not load Node's own copy of undici, and one that runs the sources does", async () => {
  const report = `process.on("exit", () => console.error("MODULES " + process.moduleLoadList.join(" ")))`;
  const settings = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(report)}`, ROLE: "server" };
  const loads = async (main?: string): Promise<boolean> => {
    const started = await startProcess({ ...settings, DATABASE_URL: (await emptyDatabase()).url }, main);
    started.send("SIGTERM");
    await started.ended;
    const [, modules = "none"] = /^MODULES (.*)$/m.exec(started.log()) ?? [];
    expect(modules.split(" ")).toContain("_http_server");
    return modules.split(" ").includes("internal/deps/undici/undici");
  };
  expect(await loads()).toBe(false);
  expect(await loads(fileURLToPath(new URL("../../src/main.ts", import.meta.url)))).toBe(true);
});
