import { readFile } from "node:fs/promises";
import type { Answer } from "@collections/lender-twin";
import { beforeAll, describe, expect, test } from "vitest";
import { ENDPOINTS } from "../../src/rest/v1/endpoints.ts";
import { aRow, startTestService, type TestService } from "../fixtures/fixture.ts";
import { answerTo, disconnectAfterSending, disconnectOnAnswer } from "../fixtures/raw-socket.ts";
import { PARTNER, payment, repeatScenes } from "./fixtures/repeat-scenes.ts";
import { allRows, rowsOf } from "../fixtures/table-rows.ts";

let service: TestService;

beforeAll(async () => {
  service = await startTestService({ hasWorker: false });
});

const { scenes, aCall } = repeatScenes(() => service);

test("every endpoint has a scene in repeat-scenes.ts", () => {
  const shown = new Set(Object.keys(scenes).map((name) => name.split(",", 1)[0]));
  expect(shown).toEqual(new Set(ENDPOINTS.map(({ method, name }) => `${method} ${name}`)));
});

test("the contract's section 'Repeating a call' lists every endpoint", async () => {
  const contract = await readFile(new URL("../../../../docs/interface.md", import.meta.url), "utf8");
  const [, section = ""] = /^## Repeating a call$([\s\S]*?)^## /m.exec(contract)!;
  const listed = [...section.matchAll(/^\| `((?:GET|POST) [^`]+)`/gm)].map(([, call]) => call);
  const paths = ENDPOINTS.map(({ method, path }) => `${method} ${path.replace(PARTNER, "…")}`);
  expect(new Set(listed)).toEqual(new Set(paths));
});

describe.each(Object.entries(scenes))("repeated call of %s", (name, scene) => {
  const method = name.split(" ", 1)[0]!;

  test("has no further effect when it is sent again after the answer", async () => {
    const { bytes } = await aCall(method, scene);
    expect(await answerTo(service.url, bytes)).toMatchObject(scene.first);
    const before = await allRows(service.app);
    const answers = [await answerTo(service.url, bytes), await answerTo(service.url, bytes)];
    for (const answer of answers) expect(answer).toMatchObject(scene.repeat);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("does not undo what happened since the first call, whose answer was lost", async () => {
    const { lender, bytes } = await aCall(method, scene);
    await disconnectOnAnswer(service.url, bytes);
    await scene.meanwhile?.(lender);
    const before = await allRows(service.app);
    expect(await answerTo(service.url, bytes)).toMatchObject(scene.repeat);
    expect(await allRows(service.app)).toEqual(before);
  });

  test("takes effect once when it is sent four times concurrently, even if some clients disconnect", async () => {
    const once = await aCall(method, scene);
    await answerTo(service.url, once.bytes);
    const often = await aCall(method, scene);
    const answeredBefore = await countAnswers(name);
    await Promise.all([
      disconnectAfterSending(service.url, often.bytes),
      disconnectAfterSending(service.url, often.bytes),
    ]);
    const answers = await Promise.all([answerTo(service.url, often.bytes), answerTo(service.url, often.bytes)]);
    const codes = [scene.first, scene.repeat].map((answer) => (answer as Answer).status);
    for (const { status } of answers) expect(codes).toContain(status);
    await expect.poll(() => countAnswers(name)).toBe(answeredBefore + 4);
    const rows = await allRows(service.app);
    expect(rowsOf(often.lender, rows)).toEqual(rowsOf(once.lender, rows));
  });
});

test("a repeated import returns the same importId, with the current state of its cases", async () => {
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

test("an import of the same rows with a new signature is not a repeat", async () => {
  const { lender, bytes } = await aCall("POST", scenes["POST import"]!);
  await answerTo(service.url, bytes);
  const anew = await lender.importCases([aRow("LN-KNOWN", { outstandingAmount: 300 }), aRow("LN-NEW")]);
  expect(anew.body).toMatchObject({ summary: { unchanged: 2 } });
  await lender.confirm("LN-NEW", payment({ amount: 5000 }));
  expect((await lender.importCases([aRow("LN-NEW")])).body).toMatchObject({ summary: { reopened: 1 } });
});

/** Returns how many answers the endpoint has given so far, including lost answers. */
async function countAnswers(scene: string): Promise<number> {
  const endpoint = scene.split(/[ ,]/)[1]!;
  const counts = (await service.app.metrics.registry.metrics()).matchAll(
    /^collections_http_request_duration_seconds_count\{endpoint="([^"]+)",[^}]*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, name, count]) => sum + (name === endpoint ? Number(count) : 0), 0);
}
