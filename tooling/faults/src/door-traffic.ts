import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { oneOf } from "./seeded-random.ts";
import type { Stage } from "./stage.ts";
import type { Pace } from "./traffic.ts";

const RETRY_AFTER_MS = 200;
const ANSWERED_WITHIN_MS = 15_000;
const LARGEST_MINOR = 100_000;
const CASES_AT_A_TIME = 12;

const CASES = "{ cases(first: 100) { edges { node { id } } } }";

const START_VISIT = `mutation ($input: StartVisitInput!) {
  result: startVisit(input: $input) { __typename ... on UserError { code message } }
}`;

const REQUEST_LINK = `mutation ($input: RequestPaymentLinkInput!) {
  result: requestPaymentLink(input: $input) {
    __typename ... on UserError { code message } ... on RequestPaymentLinkPayload { paymentLink { id } }
  }
}`;

/** What of a stage a field partner's app needs. */
type Door = Pick<Stage, "model" | "accessToken" | "sendsMail"> & { readonly servers: { readonly urls: string[] } };

interface Result {
  readonly __typename: string;
  /** Of a refusal. */
  readonly code?: string;
  readonly paymentLink?: { readonly id: string };
}

interface Data {
  readonly cases?: { readonly edges: readonly { readonly node: { readonly id: string } }[] };
  readonly result?: Result;
}

/**
 * A field partner visits some of their cases at a time and asks for links, each with one key until there is an answer.
 * A case that has had its links of the day gives its place to the next one; once all have, the day is over.
 */
export async function askForLinks(stage: Door, { random, isOver, rest }: Pace): Promise<void> {
  const { cases } = await askUntilAnswered(stage, random, CASES, {});
  const toVisit = (cases?.edges ?? []).map(({ node }) => node.id);
  if (toVisit.length === 0) throw new Error("The field partner has no case.");
  const visits = new Set<string>();
  while (!isOver()) {
    const next = visits.size < CASES_AT_A_TIME ? toVisit.shift() : undefined;
    if (next !== undefined) visits.add(await startVisit(stage, next, random));
    if (visits.size === 0) return;
    const visitId = oneOf(random, [...visits]);
    if ((await askForLink(stage, visitId, random)) === "had enough") visits.delete(visitId);
    await rest();
  }
}

async function startVisit(stage: Door, caseId: string, random: () => number): Promise<string> {
  const visitId = randomUUID();
  const input = { idempotencyKey: randomUUID(), visitId, caseId, occurredAt: new Date().toISOString() };
  const { result } = await askUntilAnswered(stage, random, START_VISIT, { input });
  if (result?.code !== undefined) stage.model.odd(`a visit was refused: ${JSON.stringify(result)}`);
  return visitId;
}

async function askForLink(stage: Door, visitId: string, random: () => number): Promise<"asked" | "had enough"> {
  const asked = { idempotencyKey: randomUUID(), linkId: undefined as string | undefined };
  stage.model.links.push(asked);
  const amount = { minor: String(100 + Math.floor(random() * LARGEST_MINOR)), currency: "INR" };
  const { idempotencyKey } = asked;
  const channels = stage.sendsMail && random() < 0.5 ? ["EMAIL"] : [];
  const input = { idempotencyKey, visitId, amount, channels };
  const { result } = await askUntilAnswered(stage, random, REQUEST_LINK, { input });
  asked.linkId = result?.paymentLink?.id;
  if (asked.linkId !== undefined) return "asked";
  if (result?.code !== "CASE_NOT_WORKABLE") stage.model.odd(`a link was refused: ${JSON.stringify(result)}`);
  return "had enough";
}

interface GraphqlAnswer {
  readonly status: number;
  readonly data?: Data;
  readonly errors?: readonly { readonly extensions: { readonly retryAfterS?: number } }[];
}

/** Asks again while the service says that it cannot now; whatever else it says that is no data is odd. */
export async function askUntilAnswered(
  stage: Door,
  random: () => number,
  query: string,
  variables: object,
): Promise<Data> {
  for (;;) {
    const answer = await ask(stage, oneOf(random, stage.servers.urls), { query, variables }).catch(() => undefined);
    if (answer?.errors === undefined && answer?.data) return answer.data;
    if (answer !== undefined && !saysNotNow(answer)) stage.model.odd(`the app was answered ${JSON.stringify(answer)}`);
    await pause(RETRY_AFTER_MS);
  }
}

function saysNotNow({ status, errors = [] }: GraphqlAnswer): boolean {
  return status === 503 || errors.every(({ extensions }) => extensions.retryAfterS !== undefined);
}

async function ask({ accessToken }: Door, serviceUrl: string, request: object): Promise<GraphqlAnswer> {
  const answer = await fetch(`${serviceUrl}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${accessToken}` },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
  });
  return { status: answer.status, ...((await answer.json()) as Omit<GraphqlAnswer, "status">) };
}
