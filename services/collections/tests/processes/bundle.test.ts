import { emptyDatabase } from "@collections/testing";
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
