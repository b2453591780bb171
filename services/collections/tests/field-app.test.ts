import { readFile } from "node:fs/promises";
import { afterFile } from "@collections/testing";
import { buildSchema, parse, validate } from "graphql";
import { beforeAll, describe, expect, test } from "vitest";
import { eventsIn } from "../src/field-app/phone/event-stream.ts";
import * as operations from "../src/field-app/phone/operations.ts";
import { digitsOf, typedAmount } from "../src/field-app/phone/typed-amount.ts";
import { madeAtMs, uuid } from "../src/field-app/phone/uuid.ts";
import { startHttpServer } from "../src/http-server.ts";
import { startTestService, testApp, type TestService } from "./fixture.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ works: false });
});

describe("the app is served", () => {
  test("in a sandbox, as a page that may talk to nobody but this service", async () => {
    const answer = await fetch(`${service.url}/app`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(await answer.text()).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=| style=/);
  });

  test("nowhere else: a production answers as to any path that it does not have", async () => {
    const settings = { ENVIRONMENT: "live", DATABASE_URL: service.databaseUrl };
    const app = await testApp(service.databaseUrl, settings);
    const live = await startHttpServer(app);
    afterFile(async () => {
      await live.stop(0);
      await app.close();
    });
    const paths = ["/app", "/app/", "/app/shell.json", "/app/assets/base.css", "/app/modules/phone/main.ts"];
    for (const path of [...paths, "/nothing-like-this"]) {
      const answer = await fetch(live.url + path, { redirect: "manual" });
      expect(answer.status).toBe(404);
      expect(await answer.json()).toMatchObject({ code: "ROUTE_NOT_FOUND", detail: `There is nothing at ${path}.` });
    }
  });

  test("with every file that it needs where there is no network", async () => {
    const shell = (await (await fetch(`${service.url}/app/shell.json`)).json()) as string[];
    expect(shell).toContain("/app");
    expect(shell).toContain("/app/modules/phone/main.ts");
    const answers = await Promise.all(shell.map(async (path) => fetch(service.url + path)));
    expect(answers.filter(({ ok }) => !ok).map(({ url }) => url)).toEqual([]);
    const worker = await fetch(`${service.url}/app/modules/worker/offline.ts`);
    expect(worker.headers.get("service-worker-allowed")).toBe("/");
    expect(await worker.text()).not.toMatch(/^(import|export) /m);
  });

  test("behind a proxy that takes a prefix off", async () => {
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

describe("the app's colours can be read", () => {
  test.each(["light", "dark"] as const)("in the %s", async (scheme) => {
    const css = await readFile(new URL("../src/field-app/assets/base.css", import.meta.url), "utf8");
    const colours = new Map(
      [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
        ([, name, light, dark]) => [name!, scheme === "light" ? light! : dark!] as const,
      ),
    );
    const pairs = [
      ...["ink", "quiet", "accent", "bad", "good"].flatMap((text) => [`${text} paper`, `${text} card`]),
      "ink sunk",
      "quiet sunk",
      "ink raised",
      "on-accent accent",
      "accent tint",
      "paper ink",
      ...["good", "warn", "bad"].map((tone) => `${tone} ${tone}-tint`),
    ];
    const faint = pairs.filter((pair) => {
      const [text, behind] = pair.split(" ").map((name) => luminance(colours.get(name)!));
      return (Math.max(text!, behind!) + 0.05) / (Math.min(text!, behind!) + 0.05) < READABLE;
    });
    expect(faint).toEqual([]);
  });
});

/** The least contrast of text in WCAG 2. */
const READABLE = 4.5;

/** Relative luminance as WCAG 2 has it, of a colour such as #0b6b63. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

const { QUEUED, ...others } = operations;

test.each(Object.entries({ ...others, ...QUEUED }))("the app's %s asks what the schema answers", async (_, text) => {
  const schema = buildSchema(await readFile(new URL("../schema.graphql", import.meta.url), "utf8"));
  expect(validate(schema, parse(text))).toEqual([]);
});

describe("an amount that somebody types", () => {
  test.each([
    ["2500", 2, "250000"],
    ["2,500.5", 2, "250050"],
    ["₹ 1,25,000.50", 2, "12500050"],
    ["Rs. 0.05", 2, "5"],
    ["1'000", 2, "100000"],
    ["2500.", 2, "250000"],
    ["5000", 0, "5000"],
    ["1.234", 3, "1234"],
    ["007", 2, "700"],
  ])("%s with %i decimals is %s", (text, digits, minor) => {
    expect(typedAmount(text, digits)).toEqual({ minor });
  });

  test.each([
    ["", 2],
    ["0", 2],
    ["0.00", 2],
    ["-5", 2],
    ["1.005", 2],
    ["12.5", 0],
    ["1e3", 2],
    ["1.2.3", 2],
    ["25 00 rupees", 2],
  ])("%s with %i decimals is refused with what to do", (text, digits) => {
    expect(typedAmount(text, digits)).toEqual({ fault: expect.stringMatching(/\.$/) });
  });

  test("has the decimals that the currency shows", () => {
    expect(["62.50", "5000", "1.234"].map((decimal) => digitsOf({ decimal }))).toEqual([2, 0, 3]);
  });
});

test("ids that the app makes are UUIDs of version 7, in the order of time", () => {
  const now = Date.parse("2026-11-20T09:40:55.123Z");
  const made = Array.from({ length: 50 }, (_, index) => uuid(now + index));
  expect(made.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))).toBe(
    true,
  );
  expect(made.toSorted()).toEqual(made);
  expect(made[0]!.replace("-", "").slice(0, 12)).toBe(now.toString(16).padStart(12, "0"));
  expect(made.map(madeAtMs)).toEqual(made.map((_, index) => now + index));
});

test("a stream of events is read however it is cut", async () => {
  const text = ':\n\nevent: next\ndata: {"a":\ndata: 1}\n\nevent: complete\ndata:\n\nevent: lost';
  for (let size = 1; size <= text.length; size += 1) {
    const events = await Array.fromAsync(eventsIn(inPieces(text, size)));
    expect(events).toEqual([
      { event: "message", data: "" },
      { event: "next", data: '{"a":\n1}' },
      { event: "complete", data: "" },
    ]);
  }
});

async function* inPieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}
