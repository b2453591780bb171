import type { Request, RequestHandler, Response, Router } from "express";
import { Router as createRouter } from "express";
import type { Logger } from "pino";
import type { LimitedEndpoint } from "../settings/rate-limits.ts";
import type { BodyMemory, HeldBody } from "../http/body-memory.ts";
import { drainBody, readBody, tooLarge } from "../http/read-body.ts";
import { authenticate, type AuthenticationRules, identify, type OnPart, presentedBy } from "./authenticate.ts";
import { BadSignature } from "./bad-signature.ts";
import { Problem, problemBody, problemHeaders } from "../http/problem.ts";
import { addressOf } from "../http/address-of.ts";
import type { RateLimiter } from "../http/rate-limiter.ts";
import { admitCaller, countFailure } from "./rate-limit.ts";
import type { NamedCaller, RequestOf, SignedCaller } from "./request-context.ts";
import type { Answer } from "../http/answer.ts";
import { answerErrors, asProblem, writeAnswer } from "../http/error-answers.ts";
import { requestIdOf } from "../http/request-id.ts";

/** One path and what it answers, by method. */
export type Endpoint = SignedEndpoint | UnsignedEndpoint;

interface EndpointFor<Caller extends NamedCaller> {
  /** The name that limits and metrics know it by. */
  name: LimitedEndpoint;
  path: string;
  limitBytes: number;
  /** Answers 403 while the operator has suspended the lender. The others go on: captured money must be recorded. */
  refusedWhileSuspended?: true;
  methods: Partial<Record<"GET" | "POST", (request: RequestOf<Caller>) => Promise<Answer> | Answer>>;
}

interface SignedEndpoint extends EndpointFor<SignedCaller> {
  signed?: true;
}

/** Anybody who knows a key id may call it: it tells nothing and changes nothing that needs a secret. */
interface UnsignedEndpoint extends EndpointFor<NamedCaller> {
  signed: false;
}

export interface RestOptions extends AuthenticationRules {
  rateLimiter: RateLimiter;
  bodyMemory: BodyMemory;
  log: Logger;
  /** Told of each answer. */
  onAnswer?: (answered: { endpoint: string; status: number; durationMs: number }) => void;
}

/**
 * A router that serves the endpoints of lenders. Checks run in a fixed order (contract: Authentication): path → size →
 * authentication → suspended lender → rate limit → method; media type, JSON and schema are the endpoint's own next steps.
 */
export function signedRouter(endpoints: readonly Endpoint[], options: RestOptions): Router {
  const router = createRouter({ caseSensitive: true, strict: true });
  for (const endpoint of endpoints) router.all(endpoint.path, serve(endpoint, options));
  router.use((request) => {
    throw new Problem("ROUTE_NOT_FOUND", `There is nothing at ${clipped(request.path)}.`);
  });
  return router.use(answerErrors(options.log));
}

function serve(endpoint: Endpoint, options: RestOptions): RequestHandler {
  return async (request, response) => {
    const startedAt = performance.now();
    const requestId = requestIdOf(response);
    let answer: Answer;
    try {
      answer = await answerTo(endpoint, request, response, options);
    } catch (error) {
      const problem = asProblem(error, options.log, requestId);
      answer = { status: problem.status, body: problemBody(problem, requestId), headers: problemHeaders(problem) };
    }
    writeAnswer(request, response, answer);
    const durationMs = performance.now() - startedAt;
    options.onAnswer?.({ endpoint: endpoint.name, status: answer.status, durationMs });
    options.log.debug(
      { requestId, endpoint: endpoint.name, status: answer.status, durationMs: Math.round(durationMs) },
      "answered",
    );
  };
}

async function answerTo(
  endpoint: Endpoint,
  request: Request,
  response: Response,
  options: RestOptions,
): Promise<Answer> {
  // A body that nobody vouches for is not even read.
  const length = request.get("content-length");
  if (Number(length) > endpoint.limitBytes) throw tooLarge(endpoint.limitBytes);
  const held = options.bodyMemory.hold(addressOf(request));
  try {
    if (endpoint.signed === false) {
      const caller = await counted(request, options, () => identify(request, options));
      return await handled(endpoint, caller, request, response, options, () =>
        readBody(request, { limitBytes: endpoint.limitBytes, held }),
      );
    }
    const { body, ...caller } = await counted(request, options, () =>
      verified(request, endpoint.limitBytes, held, options),
    );
    held.release();
    return await handled(endpoint, caller, request, response, options, () => body);
  } finally {
    held.release();
  }
}

/** Runs what follows once the caller is known: lender suspended, rate limit, method, the endpoint's own work. */
async function handled<Caller extends NamedCaller>(
  endpoint: EndpointFor<Caller>,
  caller: Caller,
  request: Request,
  response: Response,
  options: RestOptions,
  body: () => Buffer | Promise<Buffer>,
): Promise<Answer> {
  if (endpoint.refusedWhileSuspended && caller.lender.state === "suspended") {
    throw new Problem(
      "LENDER_SUSPENDED",
      "The operator has suspended this lender: imports are refused until it is resumed.",
    );
  }
  const limits = await admitCaller(options.rateLimiter, caller, endpoint.name);
  for (const [name, value] of Object.entries(limits)) response.setHeader(name, value);
  const handle = endpoint.methods[request.method as "GET" | "POST"];
  if (!handle) {
    const allowed = Object.keys(endpoint.methods).join(", ");
    throw new Problem("METHOD_NOT_ALLOWED", `Send ${allowed} here.`, {}, { Allow: allowed });
  }
  return handle({
    ...caller,
    requestId: requestIdOf(response),
    body: await body(),
    loan: request.params["loan"] as string | undefined,
    params: request.params as Record<string, string>,
    query: new URLSearchParams(/\?(.*)$/s.exec(request.originalUrl)?.[1] ?? ""),
    contentType: request.get("content-type"),
    headers: request.headers,
  });
}

async function verified(
  request: Request,
  limitBytes: number,
  held: HeldBody,
  options: RestOptions,
): Promise<SignedCaller & { body: Buffer }> {
  const presented = presentedBy(request, Date.now());
  const body = {
    read: (onPart: OnPart) => readBody(request, { limitBytes, onPart, held }),
    drain: (onPart: OnPart) => drainBody(request, { limitBytes, onPart }),
  };
  return authenticate(request, presented, body, options);
}

/** @throws Problem of 401, or RATE_LIMITED in its place for an address that has failed too often */
async function counted<Caller>(
  request: Request,
  { rateLimiter }: RestOptions,
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
