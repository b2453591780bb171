import type { Request, RequestHandler, Response } from "express";
import { NoSchemaIntrospectionCustomRule, validate } from "graphql";
import { createLRUCache, createYoga, type Plugin } from "graphql-yoga";
import type { App } from "../app.ts";
import { addressOf } from "../rate-limits/address-of.ts";
import { requestIdOf } from "../rest/server.ts";
import { answerErrors } from "./answer-errors.ts";
import { type Context, createContext } from "./context.ts";
import { allowGraphiql, renderGraphiql } from "./graphiql.ts";
import { createLinkLooks } from "./link-looks.ts";
import { countFailures, createOperationLimit } from "./operation-limit.ts";
import { limitTime } from "./operation-time.ts";
import { MAX_TOKENS, persistedOperations } from "./persisted-operations.ts";
import { schema } from "./schema.ts";
import { createWatchPlaces } from "./watch-places.ts";

/** What Yoga is handed with each request. */
export interface ServerContext {
  readonly req: Request;
  readonly res: Response;
}

/** The field-partner app's API, to be mounted at `/graphql` before anything that parses bodies. */
export interface GraphqlEndpoint {
  readonly handler: RequestHandler;
  /** Ends what is watched: the clients ask again, and find another process. */
  close(): void;
}

const ENDPOINT = "/graphql";
const STREAM = "text/event-stream";
export const LIMIT_BYTES = 256 * 1024;
/** Anybody may send a document: what is remembered of them is bounded. */
const REMEMBERED_DOCUMENTS = 200;

export function graphqlEndpoint(app: App, operationMs: number): GraphqlEndpoint {
  const sandbox = app.config.isSandbox;
  const closing = new AbortController();
  const watchPlaces = createWatchPlaces();
  const linkLooks = createLinkLooks(app.database);
  const operationLimit = createOperationLimit(app.rateLimiter);
  const yoga = createYoga<ServerContext, Context>({
    schema,
    graphqlEndpoint: ENDPOINT,
    plugins: [
      ...persistedOperations(app.config),
      limitTokens(),
      limitTime(operationMs),
      ...(sandbox ? [] : [hideSchema()]),
      countFailures(app.rateLimiter),
      answerErrors(app.log),
    ],
    context: ({ req, res }) =>
      createContext({
        app,
        requestId: requestIdOf(res),
        authorization: req.get("authorization"),
        address: addressOf(req),
        closing: closing.signal,
        operationLimit,
        linkLooks,
        watchPlaces,
      }),
    // `answerErrors` masks what any part of an answer may say, once, at the end.
    maskedErrors: false,
    maxRequestBodySize: LIMIT_BYTES,
    parserAndValidationCache: {
      documentCache: createLRUCache({ max: REMEMBERED_DOCUMENTS }),
      errorCache: createLRUCache({ max: REMEMBERED_DOCUMENTS }),
    },
    batching: false,
    multipart: false,
    cors: false,
    landingPage: false,
    graphiql: sandbox,
    renderGraphiQL: renderGraphiql,
    logging: false,
  });
  return {
    handler(request, response) {
      const startedAt = performance.now();
      const requestId = requestIdOf(response);
      response.setHeader("Cache-Control", "no-store");
      response.on("close", () => {
        const { statusCode: status } = response;
        // A stream lasts as long as somebody watches: that is no answer's time.
        const endpoint = String(response.getHeader("content-type")).startsWith(STREAM) ? "graphql-stream" : "graphql";
        const durationMs = performance.now() - startedAt;
        app.metrics.onAnswer({ endpoint, status, durationMs });
        app.log.debug({ requestId, endpoint, status, durationMs }, "answered");
      });
      const refusal = refusalOf(request, sandbox);
      if (refusal) return refuse(response, refusal);
      if (request.method === "GET") allowGraphiql(response);
      return yoga.handle(request, response, { req: request, res: response });
    },
    close: () => closing.abort(),
  };
}

/** Why a request is no GraphQL request here; undefined when it is one. */
function refusalOf(request: Request, sandbox: boolean): { status: number; message: string } | undefined {
  const host = request.get("host") ?? "";
  // Yoga makes a URL of it.
  if (!URL.canParse(`http://${host}/`)) return { status: 400, message: "Send a valid Host header." };
  if (request.path !== "/") return { status: 404, message: "There is nothing at this path; send to /graphql." };
  if (sandbox && request.method === "GET" && request.get("accept")?.includes("text/html")) return undefined;
  if (request.method !== "POST") return { status: 405, message: "Send POST with a JSON body." };
  // A page of another site can send a form by itself, but not JSON.
  if (!request.is("application/json")) return { status: 415, message: "Send Content-Type: application/json." };
  return undefined;
}

function refuse(response: Response, { status, message }: { status: number; message: string }): void {
  const extensions = { code: "BAD_INPUT", requestId: requestIdOf(response) };
  if (status === 405) response.setHeader("Allow", "POST");
  response.status(status).json({ errors: [{ message, extensions }] });
}

function limitTokens(): Plugin {
  return {
    onParse({ parseFn, setParseFn }) {
      setParseFn((source, options: object | undefined) => parseFn(source, { ...options, maxTokens: MAX_TOKENS }));
    },
  };
}

/** Who has no schema learns none by asking: neither by introspection nor by the names that errors suggest. */
function hideSchema(): Plugin {
  return {
    onValidate({ addValidationRule, setValidationFn }) {
      addValidationRule(NoSchemaIntrospectionCustomRule);
      setValidationFn((schema, document, rules) => validate(schema, document, rules, { hideSuggestions: true }));
    },
  };
}
