import { parseJson } from "@collections/money";
import { Problem } from "./problem.ts";
import type { SignedRequest } from "./request-context.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The JSON object in a request's body. Numbers under `amountKeys` arrive as they were written.
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, MALFORMED_JSON
 */
export function jsonObject(request: SignedRequest, amountKeys: ReadonlySet<string>): Record<string, unknown> {
  if (request.body.length > 0) requireJsonType(request);
  let value: unknown;
  try {
    value = parseJson(decoder.decode(request.body), amountKeys);
  } catch (error) {
    throw new Problem("MALFORMED_JSON", `The body cannot be read as JSON in UTF-8: ${(error as Error).message}.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Problem("MALFORMED_JSON", 'The body must be a JSON object, such as {"amount": 2500}.');
  }
  return value as Record<string, unknown>;
}

function requireJsonType({ contentType, headers }: SignedRequest): void {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new Problem("UNSUPPORTED_MEDIA_TYPE", `Send Content-Type: application/json; got ${contentType ?? "none"}.`);
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new Problem("UNSUPPORTED_MEDIA_TYPE", `Send the body without Content-Encoding; got ${encoding}.`);
  }
}
