import { publicId } from "@collections/database";
import type { Answer } from "@collections/lender-twin";
import { beforeAll, describe, expect, test } from "vitest";
import { aLender, aRow, startTestService, type TestService } from "../fixtures/fixture.ts";

type Lender = Awaited<ReturnType<typeof aLender>>;
type Delivery = Record<string, unknown> & { eventId: string; sourceLoanNumber: string; state: string };

const DELIVERIES = "/api/v1/partner/webhooks/deliveries";

/** A service with a worker, which delivers events. */
let service: TestService;
/** A service without a worker, so that events stay undelivered. */
let quiet: TestService;

beforeAll(async () => {
  service = await startTestService({ settings: { WEBHOOK_LADDER: "0s,50ms", WEBHOOK_SUSPEND_AFTER: "1000" } });
  quiet = await startTestService({ hasWorker: false });
});

describe("GET deliveries/{eventId}", () => {
  test("returns the event's exact body, and each attempt with the cause of its failure and a remedy", async () => {
    const lender = await aLender(service);
    lender.receiverBehaviour = ({ attempt }) => (attempt === 1 ? "redirect" : "status:503");
    const eventId = await parkedEvent(lender, "LN-1");
    const { status, body } = await lender.call("GET", `${DELIVERIES}/${eventId}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      eventId,
      kind: "case.created",
      sourceLoanNumber: "LN-1",
      sequence: 1,
      state: "parked",
      attempts: 2,
      body: lender.deliveries[0]!.rawBody,
      settledAt: expect.stringMatching(/Z$/) as string,
      log: [
        {
          number: 1,
          replay: false,
          outcome: "failed",
          status: 302,
          headers: { location: "/elsewhere" },
          body: "The lender twin is configured to answer 302.",
          error: {
            code: "REDIRECT",
            detail: expect.stringMatching(/302/) as string,
            cause: `Your server redirected to ${lender.url}/elsewhere (302). Redirects are not followed.`,
            remedy: expect.stringMatching(/^Register the final URL, which is /) as string,
          },
        },
        { number: 2, status: 503, error: { code: "NON_2XX", remedy: expect.stringMatching(/Retry-After/) as string } },
      ],
    });
    const [first] = body["log"] as { startedAt: string; durationMs: number }[];
    expect(first).toMatchObject({ startedAt: expect.stringMatching(/Z$/), durationMs: expect.any(Number) as number });
    expect(Object.keys(first!)).toEqual([
      "number",
      "replay",
      "startedAt",
      "durationMs",
      "outcome",
      "status",
      "headers",
      "body",
      "error",
    ]);
  });

  test("shows no error for a successful attempt, and no response for an attempt that got no answer", async () => {
    const lender = await aLender(service);
    lender.receiverBehaviour = ({ attempt }) => (attempt === 1 ? "reset" : "ok");
    await lender.importCases([aRow("LN-1")]);
    await lender.waitForEvents((events) => events.length === 1);
    const eventId = lender.events[0]!.eventId;
    await expect.poll(async () => (await get(lender, eventId))["state"]).toBe("delivered");
    const log = (await get(lender, eventId))["log"];
    expect(log).toMatchObject([
      { status: null, headers: null, body: null, error: { code: "CONNECT", cause: expect.any(String) as string } },
      { status: 200, outcome: "delivered", error: null },
    ]);
  });

  test("gives the same 404 for another lender's event, an unknown event and an invalid id", async () => {
    const [lender, other] = [await aLender(quiet), await aLender(quiet)];
    await lender.importCases([aRow("LN-1")]);
    const [{ eventId } = { eventId: "" }] = deliveriesIn((await list(lender)).body);
    expect((await lender.call("GET", `${DELIVERIES}/${eventId}`)).status).toBe(200);
    const unknown = publicId("evt", "019aa3c0-1d5e-7f44-b1c2-d3e4f5061728");
    const refused: Answer[] = [
      await other.call("GET", `${DELIVERIES}/${eventId}`),
      await lender.call("GET", `${DELIVERIES}/${unknown}`),
      await lender.call("GET", `${DELIVERIES}/${eventId.toUpperCase()}`),
      await lender.call("GET", `${DELIVERIES}/019aa3c0-1d5e-7f44-b1c2-d3e4f5061728`),
      await lender.call("GET", `${DELIVERIES}/evt_'%20or%20true`),
      await lender.call("GET", `${DELIVERIES}/evt_%00`),
      await other.call("POST", `${DELIVERIES}/${eventId}/replay`),
      await lender.call("POST", `${DELIVERIES}/${unknown}/replay`),
      await lender.call("POST", `${DELIVERIES}/evt_1/replay`),
    ];
    const [first] = refused;
    for (const { status, body } of refused) {
      expect(status).toBe(404);
      expect({ ...body, requestId: "" }).toEqual({ ...first!.body, requestId: "" });
    }
    expect(first!.body).toMatchObject({ code: "DELIVERY_NOT_FOUND" });
  });
});

describe("POST deliveries/{eventId}/replay", () => {
  test("sends a parked event again with the same id, body and sequence, marked as a replay", async () => {
    const lender = await aLender(service);
    lender.receiverBehaviour = "error500";
    const eventId = await parkedEvent(lender, "LN-1");
    lender.receiverBehaviour = "ok";
    const replayed = await lender.call("POST", `${DELIVERIES}/${eventId}/replay`);
    expect(replayed).toMatchObject({ status: 202, body: { success: true, eventId, state: "waiting" } });
    await lender.waitForEvents((events) => events.length === 1);
    const [first, , third] = lender.deliveries;
    expect(third).toMatchObject({ eventId, sequence: 1, attempt: 1, rawBody: first!.rawBody, outcome: "accepted" });
    expect(third!.headers).toMatchObject({ "x-service-replay": "true", "x-service-delivery": eventId });
    expect(first!.headers).not.toHaveProperty("x-service-replay");
    await expect.poll(async () => (await get(lender, eventId))["state"]).toBe("delivered");
    expect((await get(lender, eventId))["log"]).toMatchObject([
      { number: 1, replay: false },
      { number: 2, replay: false },
      { number: 1, replay: true, outcome: "delivered" },
    ]);
  });

  test("sends a delivered event again, and the receiver recognises it by its id", async () => {
    const lender = await aLender(service);
    await lender.importCases([aRow("LN-1")]);
    await lender.waitForEvents((events) => events.length === 1);
    const { eventId } = lender.events[0]!;
    await expect.poll(async () => (await get(lender, eventId))["state"]).toBe("delivered");
    expect((await lender.call("POST", `${DELIVERIES}/${eventId}/replay`, "{}")).status).toBe(202);
    await lender.waitFor(() => lender.deliveries.length === 2);
    expect(lender.deliveries[1]).toMatchObject({ eventId, outcome: "duplicate" });
  });

  test("does not change an event that still waits for delivery", async () => {
    const lender = await aLender(quiet);
    await lender.importCases([aRow("LN-1")]);
    const [{ eventId } = { eventId: "" }] = deliveriesIn((await list(lender)).body);
    const replayed = await lender.call("POST", `${DELIVERIES}/${eventId}/replay`, { why: "asked" });
    expect(replayed).toMatchObject({
      status: 202,
      body: { success: true, eventId, state: "waiting", warnings: [{ code: "UNKNOWN_FIELD", pointer: "/why" }] },
    });
    expect(await get(lender, eventId)).toMatchObject({ state: "waiting", attempts: 0 });
  });

  test("answers 405 to other methods than POST", async () => {
    const lender = await aLender(quiet);
    const answer = await lender.call("GET", `${DELIVERIES}/evt_1/replay`);
    expect(answer).toMatchObject({ status: 405, headers: { allow: "POST" } });
  });
});

describe("POST webhooks/test", () => {
  test("reports the cause of a failed ping and a remedy", async () => {
    const lender = await aLender(quiet);
    lender.receiverBehaviour = "status:401";
    const { status, body } = await lender.testWebhook();
    expect(status).toBe(200);
    expect(body).toMatchObject({
      delivered: false,
      response: { status: 401 },
      error: {
        code: "NON_2XX",
        detail: "The callback answered 401; any 2xx acknowledges.",
        cause: "Your server did not accept the signature, or asked for a login (401).",
        remedy: expect.stringMatching(/raw bytes/) as string,
      },
    });
    lender.receiverBehaviour = "ok";
    expect((await lender.testWebhook()).body).toMatchObject({ delivered: true, error: null });
  });
});

function list(lender: Lender, query = ""): Promise<Answer> {
  return lender.call("GET", `${DELIVERIES}${query === "" ? "" : `?${query}`}`);
}

async function get(lender: Lender, eventId: string): Promise<Record<string, unknown>> {
  return (await lender.call("GET", `${DELIVERIES}/${eventId}`)).body;
}

function deliveriesIn(body: Record<string, unknown>): Delivery[] {
  return body["deliveries"] as Delivery[];
}

/** Imports a case and waits until its event is parked after all attempts. Returns the id of the event. */
async function parkedEvent(lender: Lender, loan: string): Promise<string> {
  await lender.importCases([aRow(loan)]);
  await expect.poll(async () => deliveriesIn((await list(lender, `loan=${loan}`)).body)[0]?.state).toBe("parked");
  return deliveriesIn((await list(lender, `loan=${loan}`)).body)[0]!.eventId;
}
