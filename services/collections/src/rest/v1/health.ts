import { z } from "zod";
import { instantAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { KEY_ID } from "./examples.ts";

/** The answer to a health request with a valid signature (contract: Health response). */
const healthAnswer = z
  .object({
    ok: z.literal(true).meta({ description: "The signature is right." }),
    lenderCode: z.string().meta({ description: "The code of the lender whose key signed." }),
    env: z.string().meta({ description: "The name of the deployment: sandbox, live or another name." }),
    serverTime: instantAnswer("The server's clock."),
    keyId: z.string().meta({ description: "The id of the key that signed the request." }),
    skewMs: z.int().meta({ description: "Server time minus your timestamp, in milliseconds." }),
    apiVersion: z.string().meta({ description: "The version of the API, `v1`." }),
  })
  .meta({ description: "The lender and the key that your signature identifies." });

const healthExample = {
  ok: true,
  lenderCode: "ACME",
  env: "sandbox",
  serverTime: "2026-12-03T05:20:00.000Z",
  keyId: KEY_ID,
  skewMs: 213,
  apiVersion: "v1",
};

export const health: SignedEndpoint = {
  name: "health",
  method: "GET",
  path: "/api/v1/partner/health",
  operation: {
    id: "getHealth",
    tag: "Health",
    summary: "Check your signature",
    description:
      "A smoke test of your key, secret and clock. If the signature is right, the answer names your lender " +
      "code and key.",
    answers: {
      200: {
        description: "The signature is right.",
        schemas: { Health: healthAnswer },
        examples: { "A right signature": healthExample },
      },
    },
    problems: [],
  },
  handle(request, { config }) {
    return {
      status: 200,
      body: {
        ok: true,
        lenderCode: request.lender.code,
        env: config.environment,
        serverTime: new Date().toISOString(),
        keyId: request.keyId,
        skewMs: request.skewMs,
        apiVersion: "v1",
      },
    };
  },
};
