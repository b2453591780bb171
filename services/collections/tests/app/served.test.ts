import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { startTestService, testApp, type TestService } from "../fixtures/fixture.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

describe("the field app is served", () => {
  test("in a sandbox, as a page that may connect to this service only", async () => {
    const answer = await fetch(`${service.url}/app`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(await answer.text()).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=| style=/);
  });

  test("only in a sandbox: a production environment answers 404 as for any unknown path", async () => {
    const settings = { ENVIRONMENT: "live", DATABASE_URL: service.databaseUrl };
    const app = await testApp(service.databaseUrl, settings);
    const production = await startHttpServer(app);
    afterFile(async () => {
      await production.stop(0);
      await app.close();
    });
    const paths = ["/app", "/app/", "/app/shell.json", "/app/assets/base.css", "/app/modules/phone/main.ts"];
    for (const path of [...paths, "/nothing-like-this"]) {
      const answer = await fetch(production.url + path, { redirect: "manual" });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ code: "ROUTE_NOT_FOUND", detail: `There is nothing at ${path}.` });
    }
  });

  test("with a list of every file that it needs when it is offline", async () => {
    const shell = (await (await fetch(`${service.url}/app/shell.json`)).json()) as string[];
    expect(shell).toContain("/app");
    expect(shell).toContain("/app/modules/phone/main.ts");
    const answers = await Promise.all(shell.map(async (path) => fetch(service.url + path)));
    expect(answers.filter(({ ok }) => !ok).map(({ url }) => url)).toEqual([]);
    const worker = await fetch(`${service.url}/app/modules/worker/offline.ts`);
    expect(worker.headers.get("service-worker-allowed")).toBe("/");
    expect(await worker.text()).not.toMatch(/^(import|export) /m);
  });

  test("under PUBLIC_BASE_PATH behind a proxy that removes a prefix", async () => {
    const app = await testApp(service.databaseUrl, { PUBLIC_BASE_PATH: "/collections" });
    const behind = await startHttpServer(app);
    afterFile(async () => {
      await behind.stop(0);
      await app.close();
    });
    const page = await (await fetch(`${behind.url}/app`)).text();
    expect(page).toContain('data-base="/collections"');
    expect(page).toContain('src="/collections/app/modules/phone/main.ts"');
    const shell = (await (await fetch(`${behind.url}/app/shell.json`)).json()) as string[];
    expect(shell.every((path) => path.startsWith("/collections/app"))).toBe(true);
  });
});
