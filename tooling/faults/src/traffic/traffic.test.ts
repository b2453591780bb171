import { LenderClient } from "@collections/lender-twin";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { isUnavailable } from "./confirm-traffic.ts";
import { queryUntilAnswered } from "./link-traffic.ts";
import { readLists } from "./list-traffic.ts";
import { Model } from "./model.ts";
import type { Scene } from "./pace.ts";
import { startTraffic } from "./traffic.ts";

const closings: (() => void)[] = [];
/** A request of each kind of traffic. */
const ASKED = ["/api/v1/partner/cases/LN/payments/confirm", "/api/v1/partner/cases", "/graphql"];
afterAll(() => closings.forEach((close) => close()));

/** Starts a service that answers every request with `answers`, and returns its URL. */
async function serviceThat(answers: RequestListener): Promise<string> {
  const server = createServer(answers);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closings.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function sceneAt(serviceUrl: string): Scene {
  return {
    seed: 7,
    model: new Model(),
    servers: { urls: [serviceUrl] },
    lender: { links: new Map() },
    loans: ["LN-0", "LN-1"],
    smallLoans: [],
    accessToken: "token",
    sendsMail: false,
    mayRefuse: isUnavailable,
    client() {
      const client = new LenderClient();
      client.connect({ serviceUrl, apiKeyId: "lk_test", hmacSecret: "secret" });
      return client;
    },
  };
}

test("traffic ends even if the service never recovers, and each unanswered request is reported", async () => {
  const asked = new Set<string>();
  const scene = sceneAt(
    await serviceThat(({ url = "" }, answer) => {
      asked.add(url.replace(/\?.*$/, "").replace(/LN-\d/, "LN"));
      answer.writeHead(503, { "content-type": "application/json", "retry-after": "1" });
      answer.end('{"code":"UNAVAILABLE"}');
    }),
  );
  const options = { clients: 3, restMs: 1, linkRestMs: 1, importRestMs: 1, patienceMs: 300 };
  const traffic = startTraffic(scene, options);
  await expect.poll(() => scene.model.counts.refused).toBeGreaterThan(10);
  await expect.poll(() => [...asked]).toEqual(expect.arrayContaining(ASKED));
  await traffic.stop();
  const oddities = scene.model.oddities.join("\n");
  // Some payments are given up on purpose before the end, so not every client has an open payment at the end.
  expect(oddities).toMatch(/the payment pay_\d+_\d+ had no answer when the traffic ended/);
  expect(oddities).toMatch(/the import of NEW\/\d+-1-0 and others had no answer/);
  expect(oddities).toMatch(/a request of the app had no answer/);
  const open = [...scene.model.payments.values()];
  expect(open.every(({ isDoubtful, acknowledged }) => isDoubtful && acknowledged === undefined)).toBe(true);
  const sent = scene.model.counts.refused;
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(scene.model.counts.refused).toBe(sent);
});

test("an answer with neither data nor errors is reported as odd, and does not count as unavailable", async () => {
  let asked = 0;
  const scene = sceneAt(
    await serviceThat((_, answer) => {
      asked += 1;
      answer.writeHead(200, { "content-type": "application/json" });
      answer.end(asked === 1 ? "{}" : '{"data":{}}');
    }),
  );
  expect(await queryUntilAnswered(scene, { random: () => 0, isTooLate: () => false }, "{ cases }", {})).toEqual({});
  expect(scene.model.oddities).toEqual(['the app was answered {"status":200}']);
});

test.each([
  ["has a delivery", 200, '{"deliveries":[{}]}', 3],
  ["is empty", 200, '{"deliveries":[]}', 0],
  ["is always answered 503", 503, '{"code":"UNAVAILABLE"}', 0],
])(
  "readLists calls onDeliveries only if the list has deliveries (here: the list %s)",
  async (_, status, body, calls) => {
    let asked = 0;
    const scene = sceneAt(
      await serviceThat(({ url }, answer) => {
        const isOfDeliveries = url?.includes("deliveries") === true;
        if (isOfDeliveries) asked += 1;
        answer.writeHead(isOfDeliveries ? status : 200, { "content-type": "application/json", "retry-after": "1" });
        answer.end(isOfDeliveries ? body : '{"data":{}}');
      }),
    );
    let seen = 0;
    const pace = { random: () => 0, isOver: () => asked === 3, isTooLate: () => false, rest: async () => {} };
    await readLists(scene, pace, () => void (seen += 1));
    expect(seen).toBe(calls);
    expect(scene.model.oddities).toEqual([]);
  },
);
