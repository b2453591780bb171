import { warningAnswer } from "../endpoint/answer-parts.ts";
import type { Endpoint, NamedSchemas, OperationAnswer, Parameter } from "../endpoint/endpoint.ts";
import { originalAnswer } from "../v1/confirm-payment.ts";
import { ENDPOINTS } from "../v1/endpoints.ts";
import { fieldFaultAnswer, PROBLEM_ANSWERS } from "./problem-answer.ts";
import { problemCodesOf } from "./problem-codes.ts";
import { headerReferences, problemExamples, problemResponses } from "./problems.ts";
import { componentSchemas, referenceTo } from "./schemas.ts";
import { HEADERS, INFO, SECURITY_SCHEMES, TAGS } from "./texts.ts";
import { webhookPaths, webhookSchemas } from "./webhook-paths.ts";

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly webhooks: Readonly<Record<string, object>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly [member: string]: unknown;
}

const SECURITY_WITH_SIGNATURE = [{ KeyId: [], Timestamp: [], Signature: [] }];
const SECURITY_WITH_KEY_ID = [{ KeyId: [] }];
const HEADERS_OF_ALL_ANSWERS = ["X-Request-Id"];
/** Headers of answers to requests that a rate limit has counted. */
const HEADERS_OF_COUNTED_ANSWERS = ["X-Request-Id", "RateLimit-Policy", "RateLimit"];

/**
 * Derives the OpenAPI document of the REST API and the webhooks from the endpoints. The schemas of requests are those
 * with which the service checks requests. The schemas of answers are used only here and by tests, which check real
 * answers. `basePath` is the path that a proxy in front removes, or empty. The examples of problems have a `type` below
 * `documentationUrl`.
 */
export function openApiDocument(basePath = "", documentationUrl = basePath): OpenApiDocument {
  return {
    openapi: "3.1.1",
    info: INFO,
    servers: [{ url: basePath === "" ? "/" : basePath, description: "This deployment of the service." }],
    tags: TAGS,
    paths: paths(),
    webhooks: webhookPaths(),
    components: {
      schemas: schemas(),
      responses: {
        RouteNotFound: problemResponses(["ROUTE_NOT_FOUND"], HEADERS_OF_ALL_ANSWERS)["404"]!,
        MethodNotAllowed: problemResponses(["METHOD_NOT_ALLOWED"], HEADERS_OF_COUNTED_ANSWERS)["405"]!,
      },
      headers: HEADERS,
      examples: problemExamples(documentationUrl),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function paths(): Record<string, Record<string, object>> {
  const byPath = Map.groupBy(ENDPOINTS, ({ path }) => path);
  return Object.fromEntries(
    [...byPath].map(([path, endpoints]) => [
      path,
      Object.fromEntries(endpoints.map((endpoint) => [endpoint.method.toLowerCase(), operationObject(endpoint)])),
    ]),
  );
}

function operationObject(endpoint: Endpoint): object {
  const { id, tag, summary, description, parameters = [], request, answers } = endpoint.operation;
  const problems = problemCodesOf(endpoint);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: endpoint.signed === false ? SECURITY_WITH_KEY_ID : SECURITY_WITH_SIGNATURE,
    ...(parameters.length > 0 && { parameters: parameters.map(parameterObject) }),
    ...(request && {
      requestBody: { required: request.required, content: jsonContent(request.schemas, request.examples) },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerObject(answer)])),
      ...problemResponses(problems, HEADERS_OF_ALL_ANSWERS),
    },
    "x-problem-codes": problems,
  };
}

function parameterObject(parameter: Parameter): object {
  return { ...parameter, ...(parameter.in === "path" && { required: true }) };
}

function answerObject({ description, schemas, examples = {}, headers = [] }: OperationAnswer): object {
  return {
    description,
    headers: headerReferences([...HEADERS_OF_COUNTED_ANSWERS, ...headers]),
    ...(schemas && { content: jsonContent(schemas, examples) }),
  };
}

function jsonContent(schemas: NamedSchemas, examples: Readonly<Record<string, unknown>>): object {
  const values = Object.entries(examples).map(([summary, value]) => [keyOf(summary), { summary, value }]);
  const [name] = Object.keys(schemas);
  return { "application/json": { schema: { $ref: referenceTo(name!) }, examples: Object.fromEntries(values) } };
}

function keyOf(summary: string): string {
  return summary.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

function schemas(): Record<string, object> {
  const requests = ENDPOINTS.flatMap(({ operation }) => (operation.request ? [operation.request.schemas] : []));
  const answers = ENDPOINTS.flatMap(({ operation }) =>
    Object.values(operation.answers).flatMap(({ schemas }) => (schemas ? [schemas] : [])),
  );
  const parts = { Warning: warningAnswer, FieldFault: fieldFaultAnswer, OriginalBooking: originalAnswer };
  const outputs = [...answers, PROBLEM_ANSWERS, webhookSchemas(), parts];
  return {
    ...componentSchemas(Object.assign({}, ...requests) as NamedSchemas, "input"),
    ...componentSchemas(Object.assign({}, ...outputs) as NamedSchemas, "output"),
  };
}
