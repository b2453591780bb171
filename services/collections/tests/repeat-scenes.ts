import { sign } from "@collections/lender-twin";
import { lenderByCode } from "@collections/lenders";
import { aLender, aRow, type TestService } from "./fixture.ts";

export type Lender = Awaited<ReturnType<typeof aLender>> & { readonly id: string };

/** A call of one endpoint by a lender of its own. */
export interface Call {
  readonly path: string;
  readonly body?: object;
}

/** A call that is repeated, and what it answers. */
export interface Scene {
  /** Prepares the lender, always in the same way, and returns the call. */
  readonly call: (lender: Lender) => Promise<Call> | Call;
  /** What happens between the call whose answer is lost and its repeat: the repeat must not take it back. */
  readonly meanwhile?: (lender: Lender) => Promise<unknown>;
  /** The answers to the first call and to each repeat, without times. */
  readonly first: object;
  readonly repeat: object;
}

export const PARTNER = "/api/v1/partner";
const DELIVERIES = `${PARTNER}/webhooks/deliveries`;
const IMPORT = {
  rows: [
    aRow("LN-NEW"),
    aRow("LN-KNOWN", { outstandingAmount: 300 }),
    aRow("LN-SETTLED", { outstandingAmount: 0 }),
    { sourceLoanNumber: "LN-HELD", action: "hold", reason: "dispute" },
    { sourceLoanNumber: "LN-GONE", action: "withdraw", reason: "recalled" },
    { sourceLoanNumber: "LN-LATER", action: "hold", reason: "not imported yet" },
    aRow("LN-WRONG", { borrowerPhone: "12" }),
    aRow("LN-RUPEES", { currency: "USD" }),
  ],
};

/**
 * One scene for each endpoint and method; some endpoints have more than one thing to repeat. `service` is called when a
 * scene is played, so that tests may be named after the scenes before the service has started.
 */
export function repeatScenes(service: () => TestService) {
  const scenes: Record<string, Scene> = {
    "GET health": { call: () => ({ path: `${PARTNER}/health` }), ...same(200, { ok: true }) },
    "POST import": {
      call: async (lender) => {
        await lender.importCases(["KNOWN", "SETTLED", "HELD", "GONE", "RUPEES"].map((name) => aRow(`LN-${name}`)));
        return { path: `${PARTNER}/cases`, body: IMPORT };
      },
      async meanwhile(lender) {
        await lender.confirm("LN-NEW", payment({ amount: 5000 }));
        await lender.importCases([
          aRow("LN-KNOWN", { outstandingAmount: 200 }),
          aRow("LN-SETTLED"),
          { sourceLoanNumber: "LN-HELD", action: "release" },
          aRow("LN-LATER"),
          aRow("LN-RUPEES", { outstandingAmount: 0 }),
        ]);
      },
      first: { status: 200, body: { success: false, summary: { created: 1, updated: 3, withdrawn: 1, rejected: 3 } } },
      repeat: { status: 200, body: { success: false, summary: { unchanged: 5, rejected: 3 } } },
    },
    "POST import, all rows or none, which would be none by now": {
      call: () => ({
        path: `${PARTNER}/cases?atomic`,
        body: { rows: [aRow("LN-1", { outstandingAsOf: "2026-11-20T00:00:00Z" }), aRow("LN-2")] },
      }),
      meanwhile: (lender) => lender.confirm("LN-1", payment({ amount: 5000 })),
      first: { status: 200, body: { success: true, summary: { created: 2, rejected: 0 } } },
      repeat: { status: 200, body: { success: true, summary: { unchanged: 2, rejected: 0 } } },
    },
    "POST import, all rows or none": {
      call: () => ({ path: `${PARTNER}/cases?atomic`, body: { rows: [aRow("LN-1"), aRow("LN-1")] } }),
      ...same(422, { code: "IMPORT_REJECTED", importId: null }),
    },
    "POST import, as a rehearsal": {
      call: () => ({ path: `${PARTNER}/cases`, body: { rows: [aRow("LN-1")], dryRun: true } }),
      ...same(200, { dryRun: true, summary: { created: 1 } }),
    },
    "GET get-case": {
      call: async (lender) => {
        await lender.importCases([aRow("LN-1")]);
        return { path: `${PARTNER}/cases/LN-1` };
      },
      ...same(200, { sequence: 1 }),
    },
    "POST confirm": {
      call: async (lender) => {
        await lender.importCases([aRow("LN-1")]);
        return { path: `${PARTNER}/cases/LN-1/payments/confirm`, body: payment() };
      },
      meanwhile: (lender) => lender.confirm("LN-1", payment({ reference: "pay_2", amount: 4000 })),
      first: { status: 200, body: { success: true, outstandingAfter: 4000 } },
      repeat: {
        status: 409,
        body: { code: "DUPLICATE_CONFIRMATION", matches: true, original: { outstandingAfter: 4000 } },
      },
    },
    "POST webhooks-test": {
      call: () => ({ path: `${PARTNER}/webhooks/test` }),
      ...same(200, { delivered: true, endpoint: { suspended: false, consecutiveFailures: 0 } }),
    },
    "GET deliveries-list": {
      call: async (lender) => {
        await lender.importCases([aRow("LN-1")]);
        return { path: DELIVERIES };
      },
      ...same(200, { deliveries: [{ kind: "case.created", state: "waiting" }] }),
    },
    "POST deliveries-replay": {
      call: async (lender) => {
        await anEvent(lender, "parked");
        return { path: `${DELIVERIES}/replay`, body: { ratePerSecond: 5 } };
      },
      meanwhile: () => sql("update webhooks.replay set state = 'done', finished_at = now()"),
      ...same(202, { count: 1, ratePerSecond: 5 }),
    },
    "POST deliveries-replay, while another one runs": {
      call: async (lender) => {
        await anEvent(lender, "delivered");
        await lender.call("POST", `${DELIVERIES}/replay`, { state: "delivered", ratePerSecond: 7 });
        return { path: `${DELIVERIES}/replay`, body: { state: "delivered", ratePerSecond: 5 } };
      },
      meanwhile: () => sql("update webhooks.replay set state = 'done', finished_at = now()"),
      ...same(202, { count: 1, ratePerSecond: 7 }),
    },
    "POST deliveries-replay, as a rehearsal": {
      call: async (lender) => {
        await anEvent(lender, "parked");
        return { path: `${DELIVERIES}/replay?dryRun` };
      },
      ...same(200, { dryRun: true, count: 1 }),
    },
    "GET deliveries-get": {
      call: async (lender) => ({ path: `${DELIVERIES}/${await anEvent(lender, "delivered")}` }),
      ...same(200, { state: "delivered", attempts: 7 }),
    },
    "POST deliveries-replay-one": {
      call: async (lender) => ({ path: `${DELIVERIES}/${await anEvent(lender, "parked")}/replay` }),
      meanwhile: (lender) => settle(lender, "delivered"),
      ...same(202, { state: "waiting" }),
    },
    "GET replays-get": {
      call: async (lender) => {
        await anEvent(lender, "parked");
        const { body } = await lender.call("POST", `${DELIVERIES}/replay`);
        return { path: `${PARTNER}/webhooks/replays/${String(body["replayId"])}` };
      },
      ...same(200, { state: "running", count: 1 }),
    },
    "POST debug-signature": {
      call: () => ({
        path: `${PARTNER}/debug/signature`,
        body: { method: "GET", path: `${PARTNER}/health`, timestamp: "1", signature: "00" },
      }),
      ...same(200, { signatureMatches: false }),
    },
  };

  /** A new lender that is prepared for the scene, and the bytes of its call: a whole signed request. */
  async function aCall(method: string, { call }: Pick<Scene, "call">): Promise<{ lender: Lender; bytes: string }> {
    const twin = await aLender(service());
    const { id } = (await lenderByCode(service().app.database.em(), twin.code))!;
    const lender = Object.assign(twin, { id });
    const { path, body } = await call(lender);
    const text = body === undefined ? "" : JSON.stringify(body);
    const [keyId, secret] = [...lender.secrets][0]!;
    const timestamp = String(Date.now());
    const headers = {
      Host: "service",
      Authorization: `Bearer ${keyId}`,
      ...(text !== "" && { "Content-Type": "application/json" }),
      "Content-Length": Buffer.byteLength(text),
      "X-Service-Timestamp": timestamp,
      "X-Service-Signature": sign(secret, { method, path: path.split("?", 1)[0]!, timestamp, body: text }),
      Connection: "close",
    };
    const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
    return { lender, bytes: `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}` };
  }

  /** Gives the lender one event in this state. Returns the id of the event. */
  async function anEvent(lender: Lender, state: string): Promise<string> {
    await lender.importCases([aRow("LN-1")]);
    await settle(lender, state);
    const { body } = await lender.call<{ deliveries: { eventId: string }[] }>("GET", DELIVERIES);
    return body.deliveries[0]!.eventId;
  }

  /** Settles the deliveries of the lender in this state, as a worker would. */
  function settle({ id }: Lender, state: string): Promise<unknown> {
    return sql("update webhooks.delivery set state = $2, attempts = 7, settled_at = now() where lender_id = $1", [
      id,
      state,
    ]);
  }

  function sql(text: string, values: unknown[] = []): Promise<unknown> {
    return service().app.database.pool.query(text, values);
  }

  return { scenes, aCall, settle };
}

/** The same answer to the call and to each repeat. */
function same(status: number, body: object): Pick<Scene, "first" | "repeat"> {
  return { first: { status, body }, repeat: { status, body } };
}

/** A payment to confirm, of 1000 unless `fields` say otherwise. */
export function payment(fields: object = {}) {
  return { amount: 1000, reference: "pay_1", paidAt: "2026-11-20T09:40:55Z", mode: "upi", ...fields };
}
