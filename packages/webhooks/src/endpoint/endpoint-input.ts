/** What is wrong with an endpoint. */
export type EndpointFault = "TENANT_ID_INVALID" | "URL_INVALID";

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

/** Checks the form of an endpoint's fields. Whether requests may be sent to the URL is the decision of the outbound client. */
export function checkEndpoint({ tenantId, url }: { readonly tenantId: unknown; readonly url: unknown }): void {
  if (typeof tenantId !== "string" || !UUID.test(tenantId)) {
    throw new InvalidEndpointError("TENANT_ID_INVALID", `tenantId is ${JSON.stringify(tenantId)}; expected a UUID.`);
  }
  if (url === null || isHttpUrl(url)) return;
  // A URL may contain a secret, so the message does not show it.
  throw new InvalidEndpointError(
    "URL_INVALID",
    `The url is not an absolute http or https URL of at most ${MAX_URL_CHARS} characters, such as https://example.com/hooks. Null registers none.`,
  );
}

function isHttpUrl(url: unknown): boolean {
  return typeof url === "string" && url.length <= MAX_URL_CHARS && /^https?:\/\/[^/]/i.test(url) && URL.canParse(url);
}
