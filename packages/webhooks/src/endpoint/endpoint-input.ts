/** The kinds of fault of an endpoint. */
export type EndpointFault = "TENANT_ID_INVALID" | "URL_INVALID" | "NAME_INVALID" | "TOPICS_INVALID";

/**
 * An endpoint that cannot be registered. Nothing was written.
 *
 * @example
 * try {
 *   await registerEndpoint(tx, { tenantId, url: "acme.example/hooks" });
 * } catch (error) {
 *   if (error instanceof InvalidEndpointError) console.error(error.code, error.message);
 *   throw error;
 * }
 */
export class InvalidEndpointError extends Error {
  override readonly name = "InvalidEndpointError";
  readonly code: EndpointFault;

  constructor(code: EndpointFault, message: string) {
    super(message);
    this.code = code;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_URL_CHARS = 2_048;
const NAME = /^[a-z0-9_-]{1,60}$/;
const MAX_TOPICS = 100;
/** A kind of events that a topic can name: visible ASCII characters without `*`. */
const TOPIC_KIND = /^[\x21-\x29\x2b-\x7e]{1,100}$/;

/**
 * Checks the form of a tenant's id and of a URL. The outbound client decides whether requests may be sent to the URL.
 */
export function checkEndpoint({ tenantId, url }: { readonly tenantId: unknown; readonly url: unknown }): void {
  checkTenantId(tenantId);
  if (url === null || isHttpUrl(url)) return;
  // A URL may contain a secret, so the message does not show it.
  throw new InvalidEndpointError(
    "URL_INVALID",
    `The url is not an absolute http or https URL of at most ${MAX_URL_CHARS} characters, such as https://example.com/hooks. Pass null to register no URL.`,
  );
}

export function checkTenantId(tenantId: unknown): void {
  if (typeof tenantId === "string" && UUID.test(tenantId)) return;
  throw new InvalidEndpointError("TENANT_ID_INVALID", `tenantId is ${JSON.stringify(tenantId)}; expected a UUID.`);
}

/** Checks the name of an endpoint. */
export function checkName(name: unknown): void {
  if (typeof name === "string" && NAME.test(name)) return;
  const expected = "1 to 60 characters of a-z, 0-9, - and _, such as crm";
  throw new InvalidEndpointError(
    "NAME_INVALID",
    `The name of the endpoint is ${JSON.stringify(name)}; expected ${expected}.`,
  );
}

/** Checks the topics of an endpoint. */
export function checkTopics(topics: unknown): void {
  const fail = (what: string): never => {
    const expected = `1 to ${MAX_TOPICS} kinds such as "invoice.paid", "invoice.*" or "*"`;
    throw new InvalidEndpointError("TOPICS_INVALID", `${what}; expected ${expected}.`);
  };
  if (!Array.isArray(topics)) return fail(`topics is ${JSON.stringify(topics)}`);
  if (topics.length === 0 || topics.length > MAX_TOPICS) fail(`There are ${topics.length} topics`);
  for (const topic of topics as unknown[]) if (!isTopic(topic)) fail(`The topic ${JSON.stringify(topic)} is not valid`);
}

function isTopic(topic: unknown): boolean {
  return typeof topic === "string" && (topic === "*" || TOPIC_KIND.test(topic.replace(/\.\*$/, "")));
}

function isHttpUrl(url: unknown): boolean {
  return typeof url === "string" && url.length <= MAX_URL_CHARS && /^https?:\/\/[^/]/i.test(url) && URL.canParse(url);
}
