import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import { answerQuestions } from "../load/child.ts";
import { dataOf } from "./graphql-call.ts";
import { quantile } from "../figures/statistics.ts";

/**
 * Asks the process that makes the load to act as the lender and to mint the links. The same process also acts as the
 * field partners. So one clock measures both the whole latency and the lender's share of it.
 */
export interface LenderQuestion {
  readonly ask: "listen";
  readonly mintMs: number;
}

/**
 * Asks the process that makes the load to act as the field partners: each starts a visit, requests a link and waits
 * until it is minted.
 */
export interface LinkQuestion {
  readonly ask: "links";
  readonly serviceUrl: string;
  readonly accessToken: string;
  /** The cases' global ids, one for each link. */
  readonly caseIds: readonly string[];
  readonly clients: number;
  readonly hearsBy: "subscription" | "polling";
}

/** The time from a link request until the app knows that the link is minted, minus the time that the lender needed. */
export interface LinkTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const POLL_EVERY_MS = 10;
const START = `mutation ($input: StartVisitInput!) { startVisit(input: $input) { __typename } }`;
const REQUEST = `mutation ($input: RequestPaymentLinkInput!) { requestPaymentLink(input: $input) {
  ... on UserError { code message } ... on RequestPaymentLinkPayload { paymentLink { id status } } } }`;
const WATCH = "subscription ($id: ID!) { paymentLinkUpdated(id: $id) { status url } }";
const POLL = "query ($id: ID!) { paymentLink(id: $id) { status url } }";

/** How long the lender took to mint the link of a visit, in milliseconds, by the visit's REST id. */
const minted = new Map<string, number>();

answerQuestions((question: LenderQuestion | LinkQuestion) =>
  question.ask === "listen" ? listen(question.mintMs) : measureLinks(question),
);

async function listen(mintMs: number): Promise<string> {
  const server = createServer((request, response) => void mint(request, response, mintMs));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mint`;
}

async function mint(request: IncomingMessage, response: ServerResponse, mintMs: number): Promise<void> {
  const startedAt = performance.now();
  const { visitId } = (await json(request)) as { visitId: string };
  await delay(mintMs);
  const link = { linkId: `plink_${randomUUID()}`, url: "http://127.0.0.1:9/pay" };
  response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ success: true, link }));
  minted.set(visitId, performance.now() - startedAt);
}

async function measureLinks({ serviceUrl, accessToken, caseIds, clients, hearsBy }: LinkQuestion): Promise<LinkTimes> {
  const client = new FieldPartnerClient(serviceUrl, accessToken, clients);
  const visitIds = await Promise.all(caseIds.map((caseId) => client.startVisit(caseId)));
  const beyondMs: number[] = [];
  let next = 0;
  async function work(): Promise<void> {
    for (let visitId = visitIds[next++]; visitId !== undefined; visitId = visitIds[next++]) {
      const startedAt = performance.now();
      const linkId = await client.requestLink(visitId);
      await (hearsBy === "subscription" ? client.watch(linkId) : client.poll(linkId));
      beyondMs.push(performance.now() - startedAt - minted.get(`vis_${visitId.replaceAll("-", "")}`)!);
    }
  }
  await Promise.all(Array.from({ length: clients }, work));
  await client.close();
  const sorted = beyondMs.toSorted((a, b) => a - b);
  return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}

class FieldPartnerClient {
  readonly #pool: Pool;
  readonly #accessToken: string;

  constructor(serviceUrl: string, accessToken: string, clients: number) {
    // A stream's connection is closed when the stream ends, so the pool has two connections for each client.
    this.#pool = new Pool(serviceUrl, { connections: clients * 2 });
    this.#accessToken = accessToken;
  }

  async startVisit(caseId: string): Promise<string> {
    const visitId = randomUUID();
    const input = { idempotencyKey: randomUUID(), visitId, caseId, occurredAt: new Date() };
    await this.#ask(START, { input });
    return visitId;
  }

  async requestLink(visitId: string): Promise<string> {
    const amount = { minor: "250000", currency: "INR" };
    const input = { idempotencyKey: randomUUID(), visitId, amount, channels: [] };
    const { requestPaymentLink: result } = await this.#ask(REQUEST, { input });
    if (!result?.paymentLink) throw new Error(`No link: ${JSON.stringify(result)}`);
    return String(result.paymentLink.id);
  }

  async poll(id: string): Promise<void> {
    while ((await this.#ask(POLL, { id }))["paymentLink"].status !== "MINTED") await delay(POLL_EVERY_MS);
  }

  async watch(id: string): Promise<void> {
    const { body } = await this.#post(WATCH, { id }, "text/event-stream");
    let text = "";
    for await (const chunk of body) {
      text += String(chunk);
      if (text.includes('"status":"MINTED"')) break;
      if (text.includes("UNAVAILABLE") || text.includes('"errors"')) throw new Error(`No link: ${text}`);
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #ask(query: string, variables: object) {
    const { body } = await this.#post(query, variables, "application/json");
    return dataOf(await body.text());
  }

  #post(query: string, variables: object, accept: string) {
    return this.#pool.request({
      method: "POST",
      path: "/graphql",
      headers: { authorization: `Bearer ${this.#accessToken}`, "content-type": "application/json", accept },
      body: JSON.stringify({ query, variables }),
    });
  }
}
