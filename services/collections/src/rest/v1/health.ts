import type { Answer, SignedRequest } from "../request-context.ts";

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
