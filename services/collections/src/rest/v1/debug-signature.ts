import type { Credentials } from "@collections/lenders";
import { diagnose, type RequestToDiagnose, requestDescribed } from "@collections/signing";
import { z } from "zod";
import { fieldFaults, unknownFieldWarnings } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { Answer } from "../../http/answer.ts";
import type { NamedCaller, RequestOf } from "../request-context.ts";

const MAX_METHOD_CHARACTERS = 32;
const MAX_PATH_CHARACTERS = 8_192;
const MAX_HEADER_CHARACTERS = 1_024;

/** The body of a request to the signature debugger: another request, as it was sent, and its signature. */
export const debugSignatureBody = z
  .object({
    method: some(MAX_METHOD_CHARACTERS).meta({ description: "The HTTP method that was sent." }),
    path: some(MAX_PATH_CHARACTERS).meta({
      description: "The path that was called, with its query; or the whole URL.",
    }),
    timestamp: z
      .union([some(MAX_HEADER_CHARACTERS), z.number().transform(String)], { error: required("takes a string") })
      .meta({ description: "What was signed as the timestamp." }),
    signature: z
      .string({ error: required("takes a string") })
      .max(MAX_HEADER_CHARACTERS, `takes at most ${MAX_HEADER_CHARACTERS} characters`)
      .meta({ description: "The signature that was sent." }),
    body: z
      .string({ error: "takes the exact text that was sent, as a string" })
      .optional()
      .meta({ description: "The body that was sent, as text. Left out: there was none." }),
    bodyBase64: z
      .base64({ error: "takes base64" })
      .optional()
      .meta({ description: "The body's bytes in base64, where it is not plain text." }),
    headers: z
      .record(z.string(), z.string({ error: "takes a string" }), {
        error: "takes an object of header names and values",
      })
      .optional()
      .meta({ description: "The headers that were sent: Host and X-Service-Timestamp are of use." }),
  })
  .refine(({ body, bodyBase64 }) => body === undefined || bodyBase64 === undefined, {
    path: ["bodyBase64"],
    error: "goes without body: send one of them",
    params: { code: "VALIDATION_FAILED" },
  });

/** What the debugger needs: secrets to try, and whether it is open to everybody. */
export interface DebugSignature {
  readonly secretsFor: Credentials["secretsFor"];
  readonly sandbox: boolean;
}

/**
 * POST /api/v1/partner/debug/signature (contract: Signature debugger): which mistake made this signature. Whoever knows
 * a key id may ask, so no answer contains a signature, nor anything that depends on a secret beyond yes or no.
 */
export async function debugSignature(
  request: RequestOf<NamedCaller>,
  { secretsFor, sandbox }: DebugSignature,
): Promise<Answer> {
  const now = new Date();
  if (!sandbox && !(request.debugUntil && request.debugUntil > now)) throw closed(request.keyId);
  const body = jsonObject(request, new Set());
  const parsed = debugSignatureBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(debugSignatureBody.shape));
  if (!parsed.success)
    throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
  const secrets = await secretsFor(request.keyId);
  if (!secrets) throw new Problem("UNKNOWN_KEY", "The key id of the Authorization header is not known here.");
  const { search, ...answer } = diagnose(toDiagnose(parsed.data, request.headers.host), secrets, now.getTime());
  return {
    status: 200,
    body: { success: true, ...answer, searchComplete: search.complete, ...(warnings.length > 0 && { warnings }) },
  };
}

/** `host` is where this request went, and so likely the other one too. */
function toDiagnose(asked: z.infer<typeof debugSignatureBody>, host: string | undefined): RequestToDiagnose {
  const { bodyBase64, body = "", headers = {}, ...rest } = asked;
  return requestDescribed({
    ...rest,
    body: bodyBase64 === undefined ? body : Buffer.from(bodyBase64, "base64"),
    headers: Object.entries(headers),
    ...(host !== undefined && { host }),
  });
}

function closed(keyId: string): Problem {
  return new Problem(
    "DEBUGGER_CLOSED",
    `Ask the operator to open the signature debugger for ${keyId} (for an hour), or debug in the sandbox.`,
  );
}

function some(maxLength: number) {
  return z
    .string({ error: required("takes a string") })
    .min(1, "may not be empty")
    .max(maxLength, `takes at most ${maxLength} characters`);
}

function required(otherwise: string) {
  return ({ input }: { input?: unknown }) => (input === undefined ? "is required" : otherwise);
}
