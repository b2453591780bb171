import { parsePublicId } from "@collections/database";
import { MAX_RECONCILED_ROWS, reconciliationOf } from "@collections/flows";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { jsonInTurns } from "../../http/json-in-turns.ts";
import { Problem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import type { Parameter, SignedEndpoint } from "../endpoint/endpoint.ts";
import { RECONCILIATION_SCHEMAS, reconciliationBody, reconciliationExample } from "./reconciliation-answer.ts";

const RUN_ID: Parameter = {
  name: "runId",
  in: "path",
  description: "The id of the run, `rec_…`, from the answer of the reconciliation or from the list of runs.",
  schema: { type: "string" },
  example: reconciliationExample.runId,
};

/** Returns a stored reconciliation (contract: Reconciliation). */
export const getReconciliation: SignedEndpoint = {
  name: "reconciliations-get",
  method: "GET",
  path: "/api/v1/partner/payments/reconcile/{runId}",
  operation: {
    id: "getReconciliation",
    tag: "Payments",
    summary: "Read a stored reconciliation",
    description: [
      "Returns the same answer as the call that made the reconciliation. A run is kept for 90 days. One call of a lender",
      "runs at a time: a call beside it is answered with 429 `RATE_LIMITED`. While the calls of other lenders use all",
      "places, the answer is 503 `SERVICE_UNAVAILABLE`.",
    ].join("\n"),
    parameters: [RUN_ID],
    answers: {
      200: {
        description: "The result of the comparison.",
        schemas: RECONCILIATION_SCHEMAS,
        examples: { "A payment that was not booked": reconciliationExample },
      },
    },
    problems: ["RECONCILIATION_NOT_FOUND"],
  },
  handle: answerReconciliation,
};

async function answerReconciliation(request: SignedRequest, app: App): Promise<Answer> {
  // An answer may have tens of thousands of differences.
  const id = { lenderId: request.lender.id, requestId: request.params["runId"] ?? "" };
  return app.reconciliationSlots.read.run(id, () => stored(request, app));
}

async function stored({ params, lender }: SignedRequest, { database }: App): Promise<Answer> {
  const runId = parsePublicId("rec", params["runId"] ?? "");
  const key = { lenderId: lender.id, runId: runId ?? "" };
  const result = runId === undefined ? undefined : await reconciliationOf(database.em(), key, MAX_RECONCILED_ROWS);
  if (!result) {
    throw new Problem(
      "RECONCILIATION_NOT_FOUND",
      "There is no reconciliation with this id; the list of reconciliations has the ids of the last 90 days.",
    );
  }
  const body = await reconciliationBody(result);
  return { status: 200, body, text: await jsonInTurns(body) };
}
