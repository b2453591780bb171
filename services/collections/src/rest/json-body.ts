import { parseJson } from "@collections/money";
import { Problem } from "./problem.ts";
import type { RequestContent } from "./request-context.ts";

/** Values in one body at most: many times what 1,000 rows hold, and few enough to parse without holding up others. */
const MAX_VALUES = 200_000;
const COMMA = 0x2c;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The JSON object in a request's body. Numbers under `amountKeys` arrive as they were written.
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, MALFORMED_JSON
 */
export function jsonObject(request: RequestContent, amountKeys: ReadonlySet<string>): Record<string, unknown> {
  if (request.body.length > 0) requireJsonType(request);
  refuseTooManyValues(request.body);
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

/** Every value but the first of its list or object stands behind a comma; commas in texts count too, generously. */
function refuseTooManyValues(body: Buffer): void {
  let commas = 0;
  for (let at = body.indexOf(COMMA); at !== -1; at = body.indexOf(COMMA, at + 1)) commas += 1;
  if (commas <= MAX_VALUES) return;
  throw new Problem("VALIDATION_FAILED", `The body has more than ${MAX_VALUES} values; send it in parts.`);
}

function requireJsonType({ contentType, headers }: RequestContent): void {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new Problem("UNSUPPORTED_MEDIA_TYPE", `Send Content-Type: application/json; got ${contentType ?? "none"}.`);
  }
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity") {
    throw new Problem("UNSUPPORTED_MEDIA_TYPE", `Send the body without Content-Encoding; got ${encoding}.`);
  }
}
