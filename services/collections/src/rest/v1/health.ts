import { z } from "zod";
import { instantAnswer } from "../answer-parts.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";

/** The 200 of health (contract: Health response). */
export const healthAnswer = z
  .object({
    ok: z.literal(true).meta({ description: "The signature is right." }),
    lenderCode: z.string().meta({ description: "The code of the lender whose key signed." }),
    env: z.string().meta({ description: "The deployment's name: sandbox, live or another." }),
    serverTime: instantAnswer("The server's clock."),
    keyId: z.string().meta({ description: "The key that was used." }),
    skewMs: z.int().meta({ description: "Server time minus your timestamp, in milliseconds." }),
    apiVersion: z.string().meta({ description: "v1." }),
  })
  .meta({ description: "Who you are, by your signature." });

/** GET /api/v1/partner/health (contract: Health response): the smoke test of a signature. */
export function health(request: SignedRequest, { environment }: { environment: string }): Answer {
  return {
    status: 200,
    body: {
      ok: true,
      lenderCode: request.lender.code,
      env: environment,
      serverTime: new Date().toISOString(),
      keyId: request.keyId,
      skewMs: request.skewMs,
      apiVersion: "v1",
    },
  };
}
