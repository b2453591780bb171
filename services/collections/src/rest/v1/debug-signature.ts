import { diagnose, type RequestToDiagnose, requestDescribed, SIGNATURE_CAUSES } from "@collections/signing";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { NamedCaller, RequestOf } from "../caller/signed-request.ts";
import { countAnswer, instantAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { UnsignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";

const MAX_METHOD_CHARACTERS = 32;
const MAX_PATH_CHARACTERS = 8_192;
const MAX_HEADER_CHARACTERS = 1_024;

/** The body of a request to the signature debugger: another request, as it was sent, and its signature. */
const debugSignatureBody = z
  .object({
    method: some(MAX_METHOD_CHARACTERS).meta({ description: "The HTTP method that was sent." }),
    path: some(MAX_PATH_CHARACTERS).meta({
      description: "The path of the request with its query string, or the whole URL.",
    }),
    timestamp: z
      .union([some(MAX_HEADER_CHARACTERS), z.number().transform(String)], { error: required("takes a string") })
      .meta({ description: "The timestamp that was signed." }),
    signature: z
      .string({ error: required("takes a string") })
      .max(MAX_HEADER_CHARACTERS, `takes at most ${MAX_HEADER_CHARACTERS} characters`)
      .meta({ description: "The signature that was sent." }),
    body: z
      .string({ error: "takes the exact text that was sent, as a string" })
      .optional()
      .meta({ description: "The body that was sent, as text. Omit it if there was no body." }),
    bodyBase64: z
      .base64({ error: "takes base64" })
      .optional()
      .meta({ description: "The bytes of the body in base64, if the body is not plain text." }),
    headers: z
      .record(z.string(), z.string({ error: "takes a string" }), {
        error: "takes an object of header names and values",
      })
      .optional()
      .meta({ description: "The headers that were sent. Only Host and X-Service-Timestamp are used." }),
  })
  .refine(({ body, bodyBase64 }) => body === undefined || bodyBase64 === undefined, {
    path: ["bodyBase64"],
    error: "cannot be combined with body: send one of them",
    params: { code: "VALIDATION_FAILED" },
  });

/** One mistake in a signature, for the debugger's answer and for the 401 of a sandbox. */
export const findingAnswer = z
  .object({
    cause: z.enum(SIGNATURE_CAUSES).meta({ description: "The mistake. New causes may be added at any time." }),
    certain: z.boolean().meta({
      description:
        "Whether the mistake is certain, because the service computed your exact signature with this mistake.",
    }),
    fix: z.string().meta({ description: "The remedy." }),
  })
  .meta({ description: "A mistake in a signature, and its remedy." });

export const canonicalSha256Answer = z
  .string()
  .meta({ description: "The SHA-256 of the text to sign, in hexadecimal digits." });

/** The answer of the signature debugger (contract: Signature debugger). */
const debugAnswer = z
  .object({
    success: successAnswer,
    signatureMatches: z.boolean().meta({ description: "The signature is right." }),
    canonicalString: z.string().meta({ description: "The text to sign." }),
    canonicalSha256: canonicalSha256Answer,
    bodyBytes: countAnswer("The number of bytes of the body."),
    bodySha256: z.string().meta({ description: "The SHA-256 of the body, in hexadecimal digits." }),
    clock: z
      .object({
        serverTime: instantAnswer("The server's clock."),
        skewMs: z.int().nullable().meta({
          description: "Server time minus the timestamp, in milliseconds; null if the timestamp is not a number.",
        }),
        withinTolerance: z
          .boolean()
          .meta({ description: "Whether the timestamp and the server's clock differ by at most five minutes." }),
      })
      .meta({ description: "A comparison of the timestamp with the server's clock." }),
    diagnosis: z.array(findingAnswer).meta({
      description: "The certain mistake, or else possible mistakes, the likeliest first; empty if nothing is wrong.",
    }),
    searchComplete: z.boolean().meta({ description: "False if the body was too long to try every possible mistake." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "The diagnosis of a signature." });

const requestExample = {
  method: "POST",
  path: "/api/v1/partner/cases",
  timestamp: "1795167667000",
  body: '{"rows":[]}',
  signature: "bbbb1316f235f4027dac2e075c7d16ac1ec9aa2fd5e47f80e2502a6b25aee64a",
};

export const findingExample = {
  cause: "TIMESTAMP_IN_SECONDS",
  certain: true,
  fix: "Sign and send milliseconds: 1795167667000.",
};

export const canonicalExample = {
  canonicalSha256: "bffd38303f34e8d8260bbfae3b61884584014c644bf4b5c8f17ee61490b57272",
  bodyBytes: 11,
  canonicalString: 'POST\n/api/v1/partner/cases\n1795167667000\n{"rows":[]}',
};

const debugExample = {
  success: true,
  signatureMatches: false,
  ...canonicalExample,
  bodySha256: "1633902c6cbba5e7770dbed172df754a25078bb76efe1f23474edc87f1a47655",
  clock: { serverTime: "2026-11-20T09:41:07.213Z", skewMs: 213, withinTolerance: true },
  diagnosis: [findingExample],
  searchComplete: true,
};

/**
 * Finds the mistake that caused a wrong signature (contract: Signature debugger). Anybody who knows a key id may call
 * this endpoint. So no answer contains a signature. Any part of an answer that depends on a secret is only a yes or a
 * no.
 */
export const debugSignature: UnsignedEndpoint = {
  name: "debug-signature",
  method: "POST",
  path: "/api/v1/partner/debug/signature",
  signed: false,
  operation: {
    id: "debugSignature",
    tag: "Signature debugger",
    summary: "Find the mistake in a signature",
    description: [
      "This request is not signed: the id of a key is enough. Send the parts of a request as you sent it, with its",
      "signature. In a sandbox this endpoint is always open. Elsewhere, the operator opens it for one key and one hour.",
      "The answer never contains the right signature.",
    ].join("\n"),
    request: {
      schemas: { SignatureToDebug: debugSignatureBody },
      required: true,
      examples: { "Seconds instead of milliseconds": requestExample },
    },
    answers: {
      200: {
        description: "The diagnosis of a signature.",
        schemas: { SignatureDiagnosis: debugAnswer, Finding: findingAnswer },
        examples: { "Seconds instead of milliseconds": debugExample },
      },
    },
    problems: ["DEBUGGER_CLOSED", "REQUIRED", "WRONG_TYPE", "TOO_LONG"],
  },
  handle: answerDiagnosis,
};

async function answerDiagnosis(request: RequestOf<NamedCaller>, { config, credentials }: App): Promise<Answer> {
  const now = new Date();
  if (!config.isSandbox && !(request.debugUntil && request.debugUntil > now)) throw closed(request.keyId);
  const body = jsonObject(request, new Set());
  const parsed = debugSignatureBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(debugSignatureBody.shape));
  if (!parsed.success)
    throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
  const secrets = await credentials.secretsFor(request.keyId);
  if (!secrets) throw new Problem("UNKNOWN_KEY", "The key id of the Authorization header is not known here.");
  const { search, ...answer } = diagnose(toDiagnose(parsed.data, request.headers.host), secrets, now.getTime());
  return {
    status: 200,
    body: { success: true, ...answer, searchComplete: search.complete, ...(warnings.length > 0 && { warnings }) },
  };
}

/** `host` is the host of this request. Most likely the described request went to the same host. */
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
