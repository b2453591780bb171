import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { oneOf } from "./seeded-random.ts";
import type { Pace, Scene } from "./pace.ts";
import { ANSWERED_WITHIN_MS, UnansweredError } from "./traffic-end.ts";

const RETRY_AFTER_MS = 200;
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

/** The parts of a stage that a field partner's app needs. */
type FieldPartnerScene = Pick<Scene, "model" | "accessToken" | "sendsMail" | "servers">;

interface Result {
  readonly __typename: string;
  /** The code of a rejected request. */
  readonly code?: string;
  readonly paymentLink?: { readonly id: string };
}

interface Data {
  readonly cases?: { readonly edges: readonly { readonly node: { readonly id: string } }[] };
  readonly result?: Result;
}

/**
 * Simulates a field partner, who visits a few cases at a time and requests links. Each request is repeated with the
 * same idempotency key until it is answered. A case that has reached its daily limit of links is replaced by the next
 * case. When all cases have reached the limit, the traffic ends. Throws UnansweredError if a request has no answer at
 * the end.
 */
export async function requestLinks(stage: FieldPartnerScene, pace: Pace): Promise<void> {
  const { random, isOver, rest } = pace;
  const { cases } = await queryUntilAnswered(stage, pace, CASES, {});
  const toVisit = (cases?.edges ?? []).map(({ node }) => node.id);
  if (toVisit.length === 0) throw new Error("The field partner has no case.");
  const visits = new Set<string>();
  while (!isOver()) {
    const next = visits.size < CASES_AT_A_TIME ? toVisit.shift() : undefined;
    if (next !== undefined) visits.add(await startVisit(stage, next, pace));
    if (visits.size === 0) return;
    const visitId = oneOf(random, [...visits]);
    if ((await requestLink(stage, visitId, pace)) === "had enough") visits.delete(visitId);
    await rest();
  }
}

async function startVisit(stage: FieldPartnerScene, caseId: string, pace: Pace): Promise<string> {
  const visitId = randomUUID();
  const input = { idempotencyKey: randomUUID(), visitId, caseId, occurredAt: new Date().toISOString() };
  const { result } = await queryUntilAnswered(stage, pace, START_VISIT, { input });
  if (result?.code !== undefined) stage.model.odd(`a visit was rejected: ${JSON.stringify(result)}`);
  return visitId;
}

async function requestLink(stage: FieldPartnerScene, visitId: string, pace: Pace): Promise<"asked" | "had enough"> {
  const { random } = pace;
  const asked = { idempotencyKey: randomUUID(), linkId: undefined as string | undefined };
  stage.model.links.push(asked);
  const amount = { minor: String(100 + Math.floor(random() * LARGEST_MINOR)), currency: "INR" };
  const { idempotencyKey } = asked;
  const channels = stage.sendsMail && random() < 0.5 ? ["EMAIL"] : [];
  const input = { idempotencyKey, visitId, amount, channels };
  const { result } = await queryUntilAnswered(stage, pace, REQUEST_LINK, { input });
  asked.linkId = result?.paymentLink?.id;
  if (asked.linkId !== undefined) return "asked";
  if (result?.code !== "CASE_NOT_WORKABLE") stage.model.odd(`a link was rejected: ${JSON.stringify(result)}`);
  return "had enough";
}

interface GraphqlAnswer {
  readonly status: number;
  readonly data?: Data;
  readonly errors?: readonly { readonly extensions: { readonly retryAfterS?: number } }[];
}

/**
 * Repeats a query while the service is unavailable. Any other answer without data is reported as odd. Throws
 * UnansweredError if the query still has no answer long after the end of the traffic.
 */
export async function queryUntilAnswered(
  stage: FieldPartnerScene,
  { random, isTooLate }: Pick<Pace, "random" | "isTooLate">,
  query: string,
  variables: object,
): Promise<Data> {
  for (;;) {
    const answer = await ask(stage, oneOf(random, stage.servers.urls), { query, variables }).catch(() => undefined);
    if (answer?.errors === undefined && answer?.data) return answer.data;
    if (answer !== undefined && !isUnavailable(answer))
      stage.model.odd(`the app was answered ${JSON.stringify(answer)}`);
    if (isTooLate()) throw new UnansweredError("a request of the app");
    await pause(RETRY_AFTER_MS);
  }
}

function isUnavailable({ status, errors = [] }: GraphqlAnswer): boolean {
  return (
    status === 503 || (errors.length > 0 && errors.every(({ extensions }) => extensions.retryAfterS !== undefined))
  );
}

async function ask({ accessToken }: FieldPartnerScene, serviceUrl: string, request: object): Promise<GraphqlAnswer> {
  const answer = await fetch(`${serviceUrl}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${accessToken}` },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
  });
  return { status: answer.status, ...((await answer.json()) as Omit<GraphqlAnswer, "status">) };
}
