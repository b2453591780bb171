import { warningAnswer } from "../answer-parts.ts";
import { originalAnswer } from "../v1/booking-answer.ts";
import { fieldFaultAnswer, PROBLEM_ANSWERS } from "../problem-answer.ts";
import type { Operation, OperationAnswer, Parameter } from "./operation.ts";
import { OPERATIONS, problemsOf } from "./operations.ts";
import { headerReferences, problemExamples, problemResponses } from "./problems.ts";
import { componentSchemas, type NamedSchemas, referenceTo } from "./schemas.ts";
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

const SIGNED = [{ KeyId: [], Timestamp: [], Signature: [] }];
const NAMED = [{ KeyId: [] }];
const OF_EVERY_ANSWER = ["X-Request-Id"];
const OF_COUNTED_ANSWERS = ["X-Request-Id", "RateLimit-Policy", "RateLimit"];

/**
 * The REST API and the webhooks as an OpenAPI document, from the schemas that requests are checked by and that answers
 * are held to. `basePath` is the path that a proxy in front takes off, or empty.
 */
export function openApiDocument(basePath = ""): OpenApiDocument {
  return {
    openapi: "3.1.1",
    info: INFO,
    servers: [{ url: basePath === "" ? "/" : basePath, description: "This deployment." }],
    tags: TAGS,
    paths: paths(),
    webhooks: webhookPaths(),
    components: {
      schemas: schemas(),
      responses: {
        RouteNotFound: problemResponses(["ROUTE_NOT_FOUND"], OF_EVERY_ANSWER)["404"]!,
        MethodNotAllowed: problemResponses(["METHOD_NOT_ALLOWED"], OF_COUNTED_ANSWERS)["405"]!,
      },
      headers: HEADERS,
      examples: problemExamples(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function paths(): Record<string, Record<string, object>> {
  const byPath = Map.groupBy(OPERATIONS, ({ path }) => path);
  return Object.fromEntries(
    [...byPath].map(([path, operations]) => [
      path,
      Object.fromEntries(operations.map((operation) => [operation.method.toLowerCase(), operationObject(operation)])),
    ]),
  );
}

function operationObject(operation: Operation): object {
  const { id, tag, summary, description, parameters = [], request, answers, signed } = operation;
  const problems = problemsOf(operation);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: signed === false ? NAMED : SIGNED,
    ...(parameters.length > 0 && { parameters: parameters.map(parameterObject) }),
    ...(request && {
      requestBody: { required: request.required, content: jsonContent(request.schemas, request.examples) },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerObject(answer)])),
      ...problemResponses(problems, OF_EVERY_ANSWER),
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
    headers: headerReferences([...OF_COUNTED_ANSWERS, ...headers]),
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
  const requests = OPERATIONS.flatMap(({ request }) => (request ? [request.schemas] : []));
  const answers = OPERATIONS.flatMap((operation) =>
    Object.values(operation.answers).flatMap(({ schemas }) => (schemas ? [schemas] : [])),
  );
  const parts = { Warning: warningAnswer, FieldFault: fieldFaultAnswer, OriginalBooking: originalAnswer };
  const said = [...answers, PROBLEM_ANSWERS, webhookSchemas(), parts];
  return {
    ...componentSchemas(Object.assign({}, ...requests) as NamedSchemas, "input"),
    ...componentSchemas(Object.assign({}, ...said) as NamedSchemas, "output"),
  };
}
