import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
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
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; manifest-src 'self'",
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
    const paths = [
      "/app",
      "/app/",
      "/app/shell.json",
      "/app/offline.js",
      "/app/icons/icon.svg",
      "/app/manifest.webmanifest",
    ];
    for (const path of [...paths, "/nothing-like-this"]) {
      const answer = await fetch(production.url + path, { redirect: "manual" });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ code: "ROUTE_NOT_FOUND", detail: `There is nothing at ${path}.` });
    }
  });

  test("with a list of every file that it needs when it is offline", async () => {
    const shell = (await (await fetch(`${service.url}/app/shell.json`)).json()) as string[];
    expect(shell[0]).toBe("/app");
    const page = await (await fetch(`${service.url}/app`)).text();
    const named = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path!);
    expect(named.filter((path) => !shell.includes(path))).toEqual(["/app/icons/apple-touch-icon.png"]);
    const answers = await Promise.all([...shell, ...named].map(async (path) => fetch(service.url + path)));
    expect(answers.filter(({ ok }) => !ok).map(({ url }) => url)).toEqual([]);
    const worker = await fetch(`${service.url}/app/offline.js`);
    expect(worker.headers.get("service-worker-allowed")).toBe("/");
    expect(worker.headers.get("cache-control")).toBe("no-cache");
    expect(await worker.text()).not.toMatch(/^(import|export) /m);
  });

  test("as one script and one style sheet, compressed, which browsers keep because their names change with them", async () => {
    const page = await (await fetch(`${service.url}/app`)).text();
    const files = [/src="([^"]+\.js)"/, /href="([^"]+\.css)"/].map((pattern) => pattern.exec(page)![1]!);
    for (const path of files) {
      const sizes: Record<string, number> = {};
      for (const encoding of ["br", "gzip", "identity"]) {
        const answer = await rawGet(service.url + path, { "accept-encoding": encoding });
        expect(answer.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
        expect(answer.headers["vary"]).toBe("Accept-Encoding");
        expect(answer.headers["content-encoding"] ?? "identity").toBe(encoding);
        sizes[encoding] = answer.body.length;
      }
      expect(sizes["br"]).toBeLessThan(sizes["gzip"]!);
      expect(sizes["gzip"]).toBeLessThan(sizes["identity"]! / 2);
    }
  });

  test("as an app that a phone can install", async () => {
    const answer = await fetch(`${service.url}/app/manifest.webmanifest`);
    expect(answer.headers.get("content-type")).toMatch(/^application\/manifest\+json/);
    const manifest = (await answer.json()) as { icons: { src: string; sizes: string; purpose: string }[] };
    expect(manifest).toMatchObject({ start_url: "/app", scope: "/app", display: "standalone" });
    expect(manifest.icons.map(({ sizes, purpose }) => `${sizes} ${purpose}`)).toEqual([
      "192x192 any",
      "512x512 any",
      "512x512 maskable",
      "any any",
    ]);
    for (const { src, sizes } of manifest.icons.filter((icon) => icon.src.endsWith(".png"))) {
      const { body } = await rawGet(service.url + src, {});
      // A PNG states its width and height at the bytes 16 to 23.
      expect(`${body.readUInt32BE(16)}x${body.readUInt32BE(20)}`).toBe(sizes);
    }
    const drawing = await rawGet(`${service.url}/app/icons/icon.svg`, {});
    expect(drawing.headers["content-type"]).toBe("image/svg+xml");
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
    expect(page).toMatch(/src="\/collections\/app\/app-[\w-]+\.js"/);
    expect(await (await fetch(`${behind.url}/app/manifest.webmanifest`)).json()).toMatchObject({
      start_url: "/collections/app",
    });
    const shell = (await (await fetch(`${behind.url}/app/shell.json`)).json()) as string[];
    expect(shell.every((path) => path.startsWith("/collections/app"))).toBe(true);
  });
});

/** Sends a GET request and returns the bytes of the answer as they were sent, without decompression. */
async function rawGet(url: string, headers: Record<string, string>) {
  const [answer] = (await once(get(url, { headers }), "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { headers: answer.headers, body: Buffer.concat(chunks) };
}
