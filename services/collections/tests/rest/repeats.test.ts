import { readFile } from "node:fs/promises";
import type { Answer } from "@collections/lender-twin";
import { beforeAll, describe, expect, test } from "vitest";
import { ENDPOINTS } from "../../src/rest/v1/endpoints.ts";
import { aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { answerTo, leaveAfter, loseAnswer } from "../fixtures/raw-socket.ts";
import { PARTNER, payment, repeatScenes } from "./fixtures/repeat-scenes.ts";
import { allRows, rowsOf } from "../fixtures/table-rows.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ works: false });
});

const { scenes, aCall } = repeatScenes(() => service);

test("every endpoint has a scene", () => {
  const shown = new Set(Object.keys(scenes).map((name) => name.split(",", 1)[0]));
  expect(shown).toEqual(new Set(ENDPOINTS.map(({ method, name }) => `${method} ${name}`)));
});

test("the contract says of every endpoint what a repeat does", async () => {
  const contract = await readFile(new URL("../../../../docs/interface.md", import.meta.url), "utf8");
  const [, section = ""] = /^## Repeating a call$([\s\S]*?)^## /m.exec(contract)!;
  const listed = [...section.matchAll(/^\| `((?:GET|POST) [^`]+)`/gm)].map(([, call]) => call);
  const paths = ENDPOINTS.map(({ method, path }) => `${method} ${path.replace(PARTNER, "…")}`);
  expect(new Set(listed)).toEqual(new Set(paths));
});

describe.each(Object.entries(scenes))("%s", (name, scene) => {
  const method = name.split(" ", 1)[0]!;

  test("does once what comes twice, after each other", async () => {
    const { bytes } = await aCall(method, scene);
    expect(await answerTo(service.url, bytes)).toMatchObject(scene.first);
    const before = await allRows(service.app);
    const answers = [await answerTo(service.url, bytes), await answerTo(service.url, bytes)];
    for (const answer of answers) expect(answer).toMatchObject(scene.repeat);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("takes nothing back that happened between a lost answer and the repeat", async () => {
    const { lender, bytes } = await aCall(method, scene);
    await loseAnswer(service.url, bytes);
    await scene.meanwhile?.(lender);
    const before = await allRows(service.app);
    expect(await answerTo(service.url, bytes)).toMatchObject(scene.repeat);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("does once what comes four times at once, also when those who sent it have gone", async () => {
    const once = await aCall(method, scene);
    await answerTo(service.url, once.bytes);
    const often = await aCall(method, scene);
    const answeredBefore = await answersOf(name);
    await Promise.all([leaveAfter(service.url, often.bytes), leaveAfter(service.url, often.bytes)]);
    const answers = await Promise.all([answerTo(service.url, often.bytes), answerTo(service.url, often.bytes)]);
    const codes = [scene.first, scene.repeat].map((answer) => (answer as Answer).status);
    for (const { status } of answers) expect(codes).toContain(status);
    await expect.poll(() => answersOf(name)).toBe(answeredBefore + 4);
    const rows = await allRows(service.app);
    expect(rowsOf(often.lender, rows)).toEqual(rowsOf(once.lender, rows));
  });
});

test("what is read of an import again is what its cases are like now", async () => {
  const { lender, bytes } = await aCall("POST", scenes["POST import"]!);
  const first = await answerTo(service.url, bytes);
  await scenes["POST import"]!.meanwhile!(lender);
  const { body } = await answerTo(service.url, bytes);
  expect(body["importId"]).toBe(first.body["importId"]);
  expect(body["results"]).toMatchObject([
    { outcome: "unchanged", status: "collected", outstandingAmount: 0 },
    { outcome: "unchanged", outstandingAmount: 200 },
    { outcome: "unchanged", status: "new", outstandingAmount: 5000 },
    { outcome: "unchanged", status: "new" },
    { outcome: "unchanged", status: "withdrawn" },
    { outcome: "rejected", errors: [{ code: "LOAN_NOT_FOUND" }] },
    { outcome: "rejected", errors: [{ code: "INVALID_PHONE" }] },
    { outcome: "rejected", errors: [{ code: "CURRENCY_MISMATCH" }] },
  ]);
});

test("the same rows, signed anew, are another import", async () => {
  const { lender, bytes } = await aCall("POST", scenes["POST import"]!);
  await answerTo(service.url, bytes);
  const anew = await lender.importCases([aRow("LN-KNOWN", { outstandingAmount: 300 }), aRow("LN-NEW")]);
  expect(anew.body).toMatchObject({ summary: { unchanged: 2 } });
  await lender.confirm("LN-NEW", payment({ amount: 5000 }));
  expect((await lender.importCases([aRow("LN-NEW")])).body).toMatchObject({ summary: { reopened: 1 } });
});

/** The number of answers of an endpoint so far, including those that did not arrive. */
async function answersOf(scene: string): Promise<number> {
  const endpoint = scene.split(/[ ,]/)[1]!;
  const counts = (await service.app.metrics.registry.metrics()).matchAll(
    /^collections_http_request_duration_seconds_count\{endpoint="([^"]+)",[^}]*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, name, count]) => sum + (name === endpoint ? Number(count) : 0), 0);
}
