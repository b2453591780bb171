import { subscribe } from "node:diagnostics_channel";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { openApiDocument } from "../src/docs/openapi.ts";
import type { JsonSchema } from "../src/docs/openapi-schemas.ts";

/** What an operation of the document says of one status. */
interface DocumentedResponse {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<Record<string, unknown>>;
}

interface DocumentedOperation {
  readonly responses: Readonly<Record<string, DocumentedResponse>>;
}

/** An answer as it went out. */
export interface AnswerSeen {
  readonly method: string;
  /** The request line's, with its query. */
  readonly url: string;
  readonly status: number;
  readonly header: (name: string) => unknown;
  readonly body: string;
}

const REST = "/api/v1/";
const document = openApiDocument();
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(closed(document), "openapi.json");

const templates = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

const found: string[] = [];
let isListening = false;
/** Other test files of this process may play a service of their own. */
let isHeld = false;

/** Until `expectDocumented` every answer of the REST API in this process is held to the document. */
export function holdAnswers(): void {
  isHeld = true;
  if (isListening) return;
  isListening = true;
  subscribe("http.server.request.start", (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    // The URL changes on its way through routers.
    const { method = "", url = "" } = request;
    if (!isHeld || !url.startsWith(REST)) return;
    const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
    response.end = (...args: unknown[]) => {
      const body = args[0] instanceof Uint8Array || typeof args[0] === "string" ? String(args[0]) : "";
      const header = (name: string) => response.getHeader(name);
      found.push(...answerFaults({ method, url, status: response.statusCode, header, body }));
      return end(...args);
    };
  });
}

/** Throws when an answer since the last call was not as documented, or when there are `others`. */
export function expectDocumented(others: readonly string[] = []): void {
  isHeld = false;
  const faults = [...new Set([...found.splice(0), ...others])];
  if (faults.length === 0) return;
  throw new Error(`${faults.length} answers are not as in the OpenAPI document:\n${faults.slice(0, 10).join("\n")}`);
}

/** What is wrong with an answer, by the document; a field that the document does not know is wrong too. */
export function answerFaults({ method, url, status, header, body }: AnswerSeen): string[] {
  const [pathname = ""] = url.split(/[?#]/, 1);
  const where = responseIn(pathname, method, status, body);
  const response = where === undefined ? undefined : (at(where) as DocumentedResponse);
  const title = `${method} ${pathname}: ${status}`;
  if (where === undefined || !response) return [`${title} is not documented: ${body.slice(0, 300)}`];
  const absent = Object.entries(response.headers ?? {}).filter(
    ([name, { $ref }]) => (at($ref) as { required?: boolean }).required && header(name) === undefined,
  );
  const faults = absent.map(([name]) => `${title} has no ${name}`);
  const [type] = Object.keys(response.content ?? {});
  if (type === undefined) return body === "" ? faults : [...faults, `${title} has a body`];
  if (String(header("content-type")) !== type) faults.push(`${title} is ${String(header("content-type"))}`);
  const reference = `${where}/content/${escaped(type)}/schema`;
  return [...faults, ...schemaFaults(reference, JSON.parse(body)).map((fault) => `${title}: ${fault}`)];
}

/** What is wrong with an event that a lender got, by the webhook of its kind. */
export function eventFaults({ rawBody, headers }: { rawBody: string; headers: IncomingHttpHeaders }): string[] {
  const event = JSON.parse(rawBody) as { kind: string };
  return requestFaults(event.kind, event, headers);
}

/** What is wrong with a call of a lender's mint endpoint. */
export function mintFaults({ request, headers }: { request: unknown; headers: IncomingHttpHeaders }): string[] {
  return requestFaults("mint-link", request, headers);
}

function requestFaults(webhook: string, body: unknown, headers: IncomingHttpHeaders): string[] {
  const where = `#/webhooks/${webhook}/post`;
  const { parameters = [] } = (at(where) ?? {}) as { parameters?: { name: string; required: boolean }[] };
  const absent = parameters.filter(({ name, required }) => required && headers[name.toLowerCase()] === undefined);
  const faults = schemaFaults(`${where}/requestBody/content/application~1json/schema`, body);
  return [...absent.map(({ name }) => `no ${name}`), ...faults].map((fault) => `${webhook}: ${fault}`);
}

/** What is wrong with a value, by the schema at a reference such as `#/components/schemas/Booking`. */
export function schemaFaults(reference: string, value: unknown): string[] {
  const validate = ajv.getSchema(`openapi.json${reference}`);
  if (!validate) return [`there is no ${reference}`];
  if (validate(value)) return [];
  const errors = (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  return [`${errors.join(", ")} in ${JSON.stringify(value).slice(0, 500)}`];
}

/** The part of the document that a reference leads to. */
export function at(reference: string): unknown {
  const names = reference.slice("#/".length).split("/");
  return names.reduce<unknown>(
    (node, name) => (node as Record<string, unknown> | undefined)?.[decodeURIComponent(unescaped(name))],
    document,
  );
}

/** Where the document speaks of such an answer. */
function responseIn(pathname: string, method: string, status: number, body: string): string | undefined {
  const matching = templates.filter(({ pattern }) => pattern.test(pathname));
  // deliveries/replay is a path of its own, and no event's.
  const template = matching.find(({ path }) => path === pathname) ?? matching[0];
  if (status === 404 && (!template || body.includes('"ROUTE_NOT_FOUND"')))
    return "#/components/responses/RouteNotFound";
  if (!template) return undefined;
  const operations = document.paths[template.path] as unknown as Record<string, DocumentedOperation>;
  const operation = operations[method.toLowerCase()];
  if (status === 405) return "#/components/responses/MethodNotAllowed";
  // Another method is authenticated like the right one before it is refused.
  const [name, { responses }] = operation
    ? [method.toLowerCase(), operation]
    : (Object.entries(operations)[0] as [string, DocumentedOperation]);
  if (!responses[status]) return undefined;
  return `#/paths/${escaped(template.path)}/${name}/responses/${status}`;
}

/** The document with closed objects: clients are to ignore what they do not know, and here nothing is unknown. */
function closed(document: object): object {
  const copy = structuredClone(document) as { components: { schemas: Record<string, JsonSchema> } };
  copy.components.schemas = close(copy.components.schemas) as Record<string, JsonSchema>;
  return copy;
}

function close(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(close);
  if (typeof node !== "object" || node === null) return node;
  const inner = Object.fromEntries(Object.entries(node).map(([name, value]) => [name, close(value)]));
  return "properties" in node &&
    typeof node.properties === "object" &&
    "type" in node &&
    !("additionalProperties" in node)
    ? { ...inner, additionalProperties: false }
    : inner;
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

function unescaped(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}
