import type { Request, RequestHandler, Response } from "express";
import { NoSchemaIntrospectionCustomRule, validate } from "graphql";
import { createLRUCache, createYoga, type Plugin } from "graphql-yoga";
import type { App } from "../app.ts";
import { addressOf } from "../http/address-of.ts";
import { closeIfUnread, tooLarge } from "../http/read-body.ts";
import { requestIdOf } from "../http/request-id.ts";
import { answerErrors } from "./requests/answer-errors.ts";
import { authenticateFirst, MAX_BODY_BYTES } from "./requests/authenticate-first.ts";
import type { ServerContext } from "./plumbing/caller.ts";
import { type Context, createContext } from "./plumbing/context.ts";
import { limitDocuments } from "./requests/document-limits.ts";
import { allowGraphiql, renderGraphiql } from "./requests/graphiql.ts";
import { createWatchedCases } from "./plumbing/watched-cases.ts";
import { createWatchedLinks } from "./plumbing/watched-links.ts";
import { onlyEventStreams } from "./requests/only-event-streams.ts";
import { limitTime } from "./requests/operation-time.ts";
import { ownConnections } from "./requests/own-connections.ts";
import { persistedOperations, registeredOperations } from "./requests/persisted-operations.ts";
import { schema } from "./schema.ts";
import { createSubscriptionSlots } from "./plumbing/subscription-slots.ts";

/** The field-partner app's API. Mount it at `/graphql`, before any middleware that parses bodies. */
export interface GraphqlEndpoint {
  readonly handler: RequestHandler;
  /** Ends all subscriptions. The clients subscribe again and reach another process. */
  close(): void;
}

const ENDPOINT = "/graphql";
const STREAM = "text/event-stream";
/** The number of parsed GraphQL documents that are cached. */
const CACHED_DOCUMENTS = 200;

export function graphqlEndpoint(app: App, operationMs: number): GraphqlEndpoint {
  const sandbox = app.config.isSandbox;
  const closing = new AbortController();
  const subscriptionSlots = createSubscriptionSlots();
  const watchedLinks = createWatchedLinks(app.database);
  const watchedCases = createWatchedCases(app.database);
  const registered = registeredOperations(app.config);
  const yoga = createYoga<ServerContext, Context>({
    schema,
    graphqlEndpoint: ENDPOINT,
    plugins: [
      authenticateFirst(app, registered),
      persistedOperations(app.config.persistedOperations, registered),
      limitDocuments(),
      ownConnections(),
      limitTime(operationMs),
      ...(sandbox ? [] : [hideSchema()]),
      onlyEventStreams(),
      answerErrors(app.log),
    ],
    context: ({ req, res, caller }) =>
      createContext({
        app,
        requestId: requestIdOf(res),
        caller,
        address: addressOf(req),
        closing: closing.signal,
        watchedLinks,
        watchedCases,
        subscriptionSlots,
      }),
    // `documentId` names a registered operation. Yoga would refuse the parameter as unknown.
    extraParamNames: ["documentId"],
    // Yoga does not mask errors, because `answerErrors` masks them in the finished answer.
    maskedErrors: false,
    // Yoga does not limit the size of bodies, because `authenticateFirst` reads the bodies and limits their size.
    maxRequestBodySize: false,
    parserAndValidationCache: {
      documentCache: createLRUCache({ max: CACHED_DOCUMENTS }),
      errorCache: createLRUCache({ max: CACHED_DOCUMENTS }),
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
      // nginx would keep the events of a subscription until its buffer is full.
      if (request.get("accept")?.includes(STREAM)) response.setHeader("X-Accel-Buffering", "no");
      response.on("close", () => {
        const { statusCode: status } = response;
        // Measure streams under another name: a stream lasts as long as the client watches, so it would distort the
        // durations of other answers.
        const endpoint = String(response.getHeader("content-type")).startsWith(STREAM) ? "graphql-stream" : "graphql";
        const durationMs = performance.now() - startedAt;
        app.metrics.onAnswer({ endpoint, status, durationMs });
        app.log.debug({ requestId, endpoint, status, durationMs }, "answered");
      });
      const refusal = refusalOf(request, sandbox);
      if (refusal) return refuse(request, response, refusal);
      if (request.method === "GET") allowGraphiql(response);
      return yoga.handle(request, response, { req: request, res: response });
    },
    close: () => closing.abort(),
  };
}

/** Returns the status and message for a request that is not a GraphQL request; undefined for a GraphQL request. */
function refusalOf(request: Request, sandbox: boolean): { status: number; message: string } | undefined {
  const host = request.get("host") ?? "";
  // Yoga builds a URL from the host, and throws if the host is not valid.
  if (!URL.canParse(`http://${host}/`)) return { status: 400, message: "Send a valid Host header." };
  if (request.path !== "/")
    return { status: 404, message: "There is nothing at this path; send the request to /graphql." };
  if (sandbox && request.method === "GET" && request.get("accept")?.includes("text/html")) return undefined;
  if (request.method !== "POST") return { status: 405, message: "Send POST with a JSON body." };
  // Accept only JSON: a page of another site can make a browser send a form to this API, but not JSON.
  if (!request.is("application/json")) return { status: 415, message: "Send Content-Type: application/json." };
  if (Number(request.get("content-length")) > MAX_BODY_BYTES) {
    return { status: 413, message: tooLarge(MAX_BODY_BYTES).detail };
  }
  return undefined;
}

function refuse(request: Request, response: Response, { status, message }: { status: number; message: string }): void {
  const extensions = { code: "BAD_INPUT", requestId: requestIdOf(response) };
  if (status === 405) response.setHeader("Allow", "POST");
  closeIfUnread(request, response);
  response.status(status).json({ errors: [{ message, extensions }] });
}

/** Hides the schema: no introspection, and no suggested names in errors. */
function hideSchema(): Plugin {
  return {
    onValidate({ addValidationRule, setValidationFn }) {
      addValidationRule(NoSchemaIntrospectionCustomRule);
      setValidationFn((schema, document, rules) => validate(schema, document, rules, { hideSuggestions: true }));
    },
  };
}
