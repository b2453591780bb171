import { CallbackNotConfiguredError, PingAbandonedError } from "@collections/webhooks";
import type { TestWebhook } from "../../app.ts";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";
import { pingErrorBody } from "./delivery-body.ts";
import { z } from "zod";

/** The body of a webhook test: none, or the one kind that there is to test with. */
export const testWebhookBody = z.object({
  kind: z.literal("ping", { error: 'takes "ping"' }).optional().meta({ description: "What to send: ping." }),
});

/** POST /api/v1/partner/webhooks/test (contract: Partner endpoints): a signed ping, and what came of it. */
export async function testWebhook(request: SignedRequest, { ping, endpoint }: TestWebhook): Promise<Answer> {
  const warnings = request.body.length > 0 ? readBody(request) : [];
  const tested = await ping(request.lender).catch((error: unknown) => {
    if (error instanceof CallbackNotConfiguredError) throw new Problem("CALLBACK_NOT_CONFIGURED", error.message);
    if (error instanceof PingAbandonedError) throw new Problem("SERVICE_UNAVAILABLE", error.message);
    throw error;
  });
  const status = await endpoint(request.lender.id);
  const { delivered, deliveryId, durationMs, response } = tested;
  return {
    status: 200,
    body: {
      success: true,
      delivered,
      deliveryId,
      durationMs: Math.round(durationMs),
      request: tested.request,
      response,
      error: pingErrorBody(tested),
      endpoint: {
        suspended: status?.state === "suspended",
        consecutiveFailures: status?.consecutiveFailures ?? 0,
        nextProbeAt: status?.nextProbeAt ?? null,
        waiting: status?.waiting ?? 0,
        parked: status?.parked ?? 0,
      },
      ...(warnings.length > 0 && { warnings }),
    },
  };
}

function readBody(request: SignedRequest): Warning[] {
  const body = jsonObject(request, new Set());
  const parsed = testWebhookBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(testWebhookBody.shape));
  if (!parsed.success)
    throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
  return warnings;
}
