import { hasSeveralForms, storedLoanNumber } from "@collections/cases";
import { onBehalfOf, parsePublicId } from "@collections/database";
import type { Request, RequestHandler, Response, Router } from "express";
import { Router as createRouter } from "express";
import type { App } from "../../app.ts";
import { addressOf } from "../../http/address-of.ts";
import type { Answer } from "../../http/answer.ts";
import type { HeldBody } from "../../http/body-memory.ts";
import { answerErrors, asProblem, writeAnswer } from "../../http/error-answers.ts";
import { Problem, problemBody, problemHeaders } from "../../http/problem.ts";
import { drainBody, readBody, tooLarge } from "../../http/read-body.ts";
import { REQUEST_ID_PREFIX, requestIdOf } from "../../http/request-id.ts";
import {
  authenticate,
  namedKey,
  type AuthenticationRules,
  identify,
  type OnPart,
  presentedHeaders,
} from "../caller/authenticate.ts";
import { BadSignature } from "../caller/bad-signature.ts";
import { admitCaller, countFailure } from "../caller/rate-limit.ts";
import type { NamedCaller, RequestOf, SignedCaller } from "../caller/signed-request.ts";
import { DEFAULT_LIMIT_BYTES, type Endpoint } from "./endpoint.ts";

/**
 * Creates a router that serves endpoints. Checks run in a fixed order (contract: Authentication): path → size →
 * authentication → suspended lender → rate limit → method. Then the endpoint checks media type, JSON and schema.
 */
export function endpointRouter(endpoints: readonly Endpoint[], app: App): Router {
  const router = createRouter({ caseSensitive: true, strict: true });
  const service: Service = { app, rules: authenticationRules(app) };
  for (const route of routesOf(endpoints)) router.all(route.pattern, serve(route, service));
  router.use((request) => {
    throw new Problem("ROUTE_NOT_FOUND", `There is nothing at ${clipped(request.path)}.${decodedHint(request.path)}`);
  });
  return router.use(answerErrors(app.log, app.config.documentationUrl));
}

/** `/cases/A/B` is `/cases/A%2FB` after a proxy has decoded it, and then its signature would not match either. */
const CASE_PATH = /^\/api\/v1\/partner\/cases\/./;

function decodedHint(path: string): string {
  if (!CASE_PATH.test(path)) return "";
  return (
    " A / in a loan number is sent as %2F. If you sent %2F, a proxy has decoded it: the service's operator must configure" +
    " the proxy to keep the path as it is."
  );
}

interface Service {
  readonly app: App;
  readonly rules: AuthenticationRules;
}

function authenticationRules({ credentials, keyUses, config }: App): AuthenticationRules {
  return { credentials, keyUses, publicBasePath: config.publicBasePath, sandbox: config.isSandbox };
}

/** The endpoints of one path. */
interface Route {
  /** The path as Express writes it: `/cases/:loan`. */
  readonly pattern: string;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /**
   * The endpoint for requests with a method that the path does not support: its authentication, rate limit and metrics
   * apply to such requests.
   */
  readonly first: Endpoint;
}

/**
 * Returns the routes in the order in which Express tries them. A path with more literal segments comes first, so that a
 * request for `/deliveries/replay` does not match `/deliveries/{eventId}`.
 */
function routesOf(endpoints: readonly Endpoint[]): Route[] {
  const byPath = [...Map.groupBy(endpoints, ({ path }) => path)];
  return byPath
    .toSorted(([path], [other]) => literalSegments(other) - literalSegments(path))
    .map(([path, some]) => ({
      pattern: path.replaceAll(/\{(\w+)\}/g, ":$1"),
      endpoints: new Map(some.map((endpoint) => [endpoint.method, endpoint])),
      first: some[0]!,
    }));
}

function literalSegments(path: string): number {
  return path.split("/").filter((segment) => !segment.startsWith("{")).length;
}

/** A request and its response, with the endpoint that answers. */
interface Exchange {
  readonly route: Route;
  readonly endpoint: Endpoint;
  readonly request: Request;
  readonly response: Response;
}

/** The caller of a request, once the request is authenticated. */
interface Known {
  caller?: NamedCaller;
}

function serve(route: Route, service: Service): RequestHandler {
  const { config, log, metrics, requestLog } = service.app;
  return async (request, response) => {
    const startedAt = performance.now();
    const receivedAt = new Date();
    const requestId = requestIdOf(response);
    const known: Known = {};
    const endpoint = route.endpoints.get(request.method) ?? route.first;
    let answer: Answer;
    try {
      answer = await answerTo({ route, endpoint, request, response }, service, known);
    } catch (error) {
      const problem = asProblem(error, log, requestId);
      const body = problemBody(problem, requestId, config.documentationUrl);
      answer = { status: problem.status, body, headers: problemHeaders(problem) };
    }
    writeAnswer(request, response, answer);
    const durationMs = performance.now() - startedAt;
    metrics.onAnswer({ endpoint: endpoint.name, status: answer.status, durationMs });
    const keyId = known.caller?.keyId ?? namedKey(request);
    if (keyId !== undefined) {
      const isSigned = known.caller !== undefined && known.caller.unprovenFrom === undefined;
      requestLog.note({
        id: parsePublicId(REQUEST_ID_PREFIX, requestId)!,
        lenderId: isSigned ? known.caller!.lender.id : undefined,
        receivedAt,
        keyId,
        isSigned,
        method: request.method,
        path: config.publicBasePath + request.path,
        endpoint: endpoint.name,
        status: answer.status,
        code: answer.status < 400 ? null : codeOf(answer),
        durationMs: Math.round(durationMs),
      });
    }
    log.debug(
      { requestId, endpoint: endpoint.name, status: answer.status, durationMs: Math.round(durationMs) },
      "answered",
    );
  };
}

/** Returns the `code` of an error. */
function codeOf({ body }: Answer): string | null {
  const { code } = (body ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : null;
}

async function answerTo(exchange: Exchange, { app, rules }: Service, known: Known): Promise<Answer> {
  const { endpoint, request } = exchange;
  const { limitBytes = DEFAULT_LIMIT_BYTES } = endpoint;
  // Check Content-Length before authentication: a body that is too large is not read, so its signature cannot be
  // verified.
  const length = request.get("content-length");
  if (Number(length) > limitBytes) throw tooLarge(limitBytes);
  const held = app.bodyMemory.hold(addressOf(request));
  try {
    if (endpoint.signed === false) {
      const caller = await counted(request, app, () => identify(request, rules));
      known.caller = caller;
      await admit(exchange, caller, app);
      const body = await readBody(request, { limitBytes, held });
      return await onBehalfOf(caller.lender.id, async () =>
        endpoint.handle(await requestOf(exchange, caller, body, app), app),
      );
    }
    const { body, ...caller } = await counted(request, app, () => verified(request, limitBytes, held, rules));
    known.caller = caller;
    held.release();
    await admit(exchange, caller, app);
    return await onBehalfOf(caller.lender.id, async () =>
      endpoint.handle(await requestOf(exchange, caller, body, app), app),
    );
  } finally {
    held.release();
  }
}

/**
 * Runs the checks that need the caller: suspended lender, rate limit, method.
 * @throws Problem LENDER_SUSPENDED, RATE_LIMITED, METHOD_NOT_ALLOWED
 */
async function admit(
  { route, endpoint, request, response }: Exchange,
  caller: NamedCaller,
  { rateLimiter }: App,
): Promise<void> {
  if (endpoint.refusedWhileSuspended && caller.lender.state === "suspended") {
    throw new Problem(
      "LENDER_SUSPENDED",
      "The operator has suspended this lender: imports are refused until it is resumed.",
    );
  }
  const limits = await admitCaller(rateLimiter, caller, endpoint.name);
  for (const [name, value] of Object.entries(limits)) response.setHeader(name, value);
  if (endpoint.method !== request.method) {
    const allowed = [...route.endpoints.keys()].join(", ");
    throw new Problem("METHOD_NOT_ALLOWED", `Send ${allowed} here.`, {}, { Allow: allowed });
  }
}

async function requestOf<Caller extends NamedCaller>(
  { request, response }: Exchange,
  caller: Caller,
  body: Buffer,
  { database }: App,
): Promise<RequestOf<Caller>> {
  let loan = request.params["loan"] as string | undefined;
  // The path may have another Unicode normal form than the stored loan number. The EntityManager of a request costs 3 % of a
  // confirmation's processor time, so only such a number gets one. A confirmation needs no shared connection.
  if (loan !== undefined && hasSeveralForms(loan)) {
    loan = await storedLoanNumber(database.em("access"), caller.lender.id, loan);
  }
  return {
    ...caller,
    requestId: requestIdOf(response),
    body,
    loan,
    params: request.params as Record<string, string>,
    query: new URLSearchParams(/\?(.*)$/s.exec(request.originalUrl)?.[1] ?? ""),
    contentType: request.get("content-type"),
    headers: request.headers,
  };
}

async function verified(
  request: Request,
  limitBytes: number,
  held: HeldBody,
  rules: AuthenticationRules,
): Promise<SignedCaller & { body: Buffer }> {
  const presented = presentedHeaders(request, Date.now());
  const body = {
    read: (onPart: OnPart) => readBody(request, { limitBytes, onPart, held }),
    drain: (onPart: OnPart) => drainBody(request, { limitBytes, onPart }),
  };
  return authenticate(request, presented, body, rules);
}

/**
 * Runs an authentication and counts its failure for the address of the request.
 * @throws Problem of 401, or RATE_LIMITED instead for an address with too many failures
 */
async function counted<Caller>(
  request: Request,
  { rateLimiter }: App,
  authentication: () => Promise<Caller>,
): Promise<Caller> {
  try {
    return await authentication();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) await countFailure(rateLimiter, addressOf(request));
    throw error instanceof BadSignature ? await error.explained() : error;
  }
}

function clipped(path: string): string {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path;
}
