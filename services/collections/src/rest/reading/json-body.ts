import { DuplicateFieldError, JsonTooComplexError, parseJson } from "@collections/money";
import { pointerOf } from "./field-faults.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { RequestContent } from "../caller/signed-request.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses the body of a request as a JSON object. Numbers under `amountKeys` keep their digits (AmountLiteral).
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, MALFORMED_JSON, JSON_TOO_COMPLEX, DUPLICATE_FIELD
 */
export function jsonObject(request: RequestContent, amountKeys: ReadonlySet<string>): Record<string, unknown> {
  if (request.body.length > 0) requireJsonType(request);
  const value = parsed(request.body, amountKeys);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Problem("MALFORMED_JSON", 'The body must be a JSON object, such as {"amount": 2500}.');
  }
  return value as Record<string, unknown>;
}

function parsed(body: Buffer, amountKeys: ReadonlySet<string>): unknown {
  try {
    return parseJson(decoder.decode(body), amountKeys);
  } catch (error) {
    if (error instanceof DuplicateFieldError) throw duplicateField(error);
    if (error instanceof JsonTooComplexError) throw new Problem("JSON_TOO_COMPLEX", error.message);
    throw new Problem("MALFORMED_JSON", `The body cannot be read as JSON in UTF-8: ${(error as Error).message}.`);
  }
}

/**
 * Returns the problem of two members with the same name. JSON parsers differ in which of the two they use, so the body
 * is rejected.
 */
function duplicateField({ code, path }: DuplicateFieldError): Problem {
  const pointer = pointerOf(path);
  return validationProblem([{ code, pointer, detail: `${pointer} is sent twice; send each field of an object once.` }]);
}

function requireJsonType({ contentType, headers }: RequestContent): void {
  const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new Problem("UNSUPPORTED_MEDIA_TYPE", `Send Content-Type: application/json; got ${contentType ?? "none"}.`);
  }
  const encoding = headers["content-encoding"]?.trim();
  // Names of codings are case-insensitive.
  if (encoding !== undefined && !/^(?:identity)?$/i.test(encoding)) {
    throw new Problem("UNSUPPORTED_MEDIA_TYPE", `Send the body without Content-Encoding; got ${encoding}.`);
  }
}
