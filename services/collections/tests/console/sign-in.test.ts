import { transaction } from "@collections/database";
import { revokeOperator } from "@collections/operators";
import { afterFile } from "@collections/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { startHttpServer } from "../../src/start/http-server.ts";
import { startTestService, testApp, type TestService } from "../fixtures/fixture.ts";
import { aSignedInVisitor, aVisitor, formTokenIn, linkPath } from "./fixtures/visitor.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

/** Starts a server with other settings on the database of `service`. */
async function serverWith(settings: Record<string, string>) {
  const app = await testApp(service.databaseUrl, settings);
  const server = await startHttpServer(app);
  afterFile(async () => {
    await server.stop(0);
    await app.close();
  });
  return { app, url: server.url };
}

describe("a sign-in link", () => {
  test("is used up by the button, not by opening it", async () => {
    const visitor = aVisitor(service);
    const { path, token } = await linkPath(service);
    for (const _ of [1, 2]) {
      expect(await visitor.get(path)).toMatchObject({ status: 200, text: expect.stringContaining("Sign in as Asha") });
    }
    const answer = await visitor.post("/console/sign-in", { link: token });
    expect({ status: answer.status, to: answer.headers.get("location") }).toEqual({ status: 303, to: "/console" });
    expect(answer.headers.get("set-cookie")).toMatch(
      /^console_session=ops_[\w-]{43}; Path=\/console; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    expect(await visitor.get("/console")).toMatchObject({ status: 200 });
    expect(await visitor.get(path)).toMatchObject({ status: 410 });
    expect(await aVisitor(service).post("/console/sign-in", { link: token })).toMatchObject({ status: 410 });
  });

  test("signs in one of several concurrent posts", async () => {
    const { token } = await linkPath(service);
    const posts = Array.from({ length: 6 }, () => aVisitor(service).post("/console/sign-in", { link: token }));
    const statuses = (await Promise.all(posts)).map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([303, 410, 410, 410, 410, 410]);
  });

  test("is not used up by a form of another origin", async () => {
    const { token } = await linkPath(service);
    for (const origin of ["https://evil.example", "null", null]) {
      const answer = await aVisitor(service).post("/console/sign-in", { link: token }, origin);
      expect(answer).toMatchObject({ status: 403, text: expect.stringContaining("Form refused") });
    }
    expect(await aVisitor(service).post("/console/sign-in", { link: token })).toMatchObject({ status: 303 });
  });

  test("that does not exist leads to a page about a new one", async () => {
    const answer = await aVisitor(service).get(`/console/sign-in/opl_${"A".repeat(43)}`);
    expect(answer).toMatchObject({ status: 410, text: expect.stringContaining("collections operator link") });
  });
});

describe("a session", () => {
  test("ends with the button Sign out", async () => {
    const visitor = await aSignedInVisitor(service);
    const before = visitor.cookie;
    const formToken = formTokenIn(await visitor.get("/console"));
    const answer = await visitor.post("/console/sign-out", { formToken });
    expect({ status: answer.status, to: answer.headers.get("location") }).toEqual({
      status: 303,
      to: "/console/signed-out",
    });
    expect(answer.headers.get("set-cookie")).toMatch(/^console_session=; Path=\/console; Expires=Thu, 01 Jan 1970/);
    visitor.cookie = before;
    expect(await visitor.get("/console")).toMatchObject({ status: 401 });
  });

  test("does not end by a forged form", async () => {
    const visitor = await aSignedInVisitor(service);
    const other = await aSignedInVisitor(service);
    const formToken = formTokenIn(await visitor.get("/console"));
    const ofOther = formTokenIn(await other.get("/console"));
    for (const fields of [{}, { formToken: "" }, { formToken: ofOther }, { formToken: `${formToken}x` }]) {
      expect(await visitor.post("/console/sign-out", fields as Record<string, string>)).toMatchObject({ status: 403 });
    }
    const forged = await visitor.post("/console/sign-out", { formToken }, "https://evil.example");
    expect(forged).toMatchObject({ status: 403 });
    expect(await visitor.get("/console")).toMatchObject({ status: 200 });
  });

  test("that was revoked leads to a page about a new link", async () => {
    const visitor = await aSignedInVisitor(service);
    await transaction(service.app.database.em(), (tx) => revokeOperator(tx, { name: "Asha" }, new Date()));
    const answer = await visitor.get("/console");
    expect(answer).toMatchObject({ status: 401, text: expect.stringContaining("collections operator link") });
    expect(answer.text).not.toContain("Sign out");
  });

  test("that has expired is refused", async () => {
    const visitor = await aSignedInVisitor(service);
    await service.app.database.pool.query("update operators.session set expires_at = now() - interval '1 second'");
    expect(await visitor.get("/console/search")).toMatchObject({ status: 401 });
  });
});

test("a page is stored nowhere, runs no script and loads nothing else", async () => {
  const { headers, text } = await (await aSignedInVisitor(service)).get("/console");
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("referrer-policy")).toBe("same-origin");
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'none'; style-src 'self'; img-src data:; connect-src 'none'; " +
      "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  );
  expect(text).not.toMatch(/<script|<style| on\w+=| style=/);
});

test("the console is off in production unless CONSOLE is on", async () => {
  const off = await serverWith({ ENVIRONMENT: "live" });
  for (const path of ["/console", "/console/", "/console/console.css", "/console/sign-in/opl_x"]) {
    expect(await aVisitor(off).get(path)).toMatchObject({
      status: 404,
      text: expect.stringContaining("ROUTE_NOT_FOUND"),
    });
  }
  expect(await aVisitor(await serverWith({ CONSOLE: "off" })).get("/console")).toMatchObject({ status: 404 });
});

test("a production has a secure cookie and the forms of PUBLIC_URL", async () => {
  const settings = {
    ENVIRONMENT: "live",
    CONSOLE: "on",
    PUBLIC_URL: "https://desk.example",
    PUBLIC_BASE_PATH: "/desk",
  };
  const live = await serverWith(settings);
  const { token } = await linkPath(live);
  expect(await aVisitor(live).post("/console/sign-in", { link: token })).toMatchObject({ status: 403 });
  const answer = await aVisitor(live).post("/console/sign-in", { link: token }, "https://desk.example");
  expect(answer.headers.get("location")).toBe("/desk/console");
  expect(answer.headers.get("set-cookie")).toMatch(/; Path=\/desk\/console; .*; HttpOnly; Secure; SameSite=Strict$/);
});
