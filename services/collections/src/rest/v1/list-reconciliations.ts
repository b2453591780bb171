import { listReconciliations as readRuns, type ReconciliationRun } from "@collections/bookings";
import type { EntityManager } from "@collections/entities";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { type FieldFault, validationProblem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { nextCursorAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { Parameter, SignedEndpoint } from "../endpoint/endpoint.ts";
import { encodeCursor, readCursor } from "../reading/list-cursor.ts";
import { CURSOR } from "../reading/list-parameters.ts";
import { readParameter, unknownParameterWarnings } from "../reading/query-parameters.ts";
import { reconciliationExample, runBody, runFields } from "./reconciliation-answer.ts";

const NAME = "reconciliations-list";
const RUNS_A_PAGE = 100;
const PARAMETERS: readonly Parameter[] = [CURSOR];

const runAnswer = z.object(runFields).meta({ description: "A stored reconciliation, without its differences." });

const runsAnswer = z
  .object({
    success: successAnswer,
    reconciliations: z.array(runAnswer).meta({ description: "Up to 100 reconciliations, the latest first." }),
    nextCursor: nextCursorAnswer,
    warnings: warningsAnswer,
  })
  .meta({ description: "A page of your stored reconciliations." });

const { runId, from, to, startedAt, requestedBy, clean, counts, yours, ours } = reconciliationExample;
const example = {
  success: true,
  reconciliations: [{ runId, from, to, startedAt, requestedBy, clean, counts, yours, ours }],
  nextCursor: null,
};

/** Lists the stored reconciliations of a lender (contract: Reconciliation). */
export const listReconciliations: SignedEndpoint = {
  name: NAME,
  method: "GET",
  path: "/api/v1/partner/payments/reconcile",
  operation: {
    id: "listReconciliations",
    tag: "Payments",
    summary: "List your stored reconciliations",
    description: "Returns the latest reconciliations first, in pages, also those that an operator made for you.",
    parameters: PARAMETERS,
    answers: {
      200: {
        description: "A page of reconciliations.",
        schemas: { Reconciliations: runsAnswer, ReconciliationRun: runAnswer },
        examples: { "A reconciliation with a difference": example },
      },
    },
    problems: ["WRONG_TYPE", "INVALID_ENUM"],
  },
  handle: answerRuns,
};

async function answerRuns({ query, lender }: SignedRequest, { database }: App): Promise<Answer> {
  const found = unknownParameterWarnings(query, PARAMETERS);
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults: FieldFault[] = [];
  const owner = [NAME, lender.id];
  const cursor = readParameter(query, "cursor", faults, (text) => readCursor(owner, text));
  if (faults.length > 0) throw validationProblem(faults, warnings);
  const { runs, next } = await pageOfRuns(database.em(), lender.id, cursor);
  const nextCursor = next === null ? null : encodeCursor(owner, next);
  return { status: 200, body: { success: true, reconciliations: runs.map(runBody), nextCursor, ...warnings } };
}

async function pageOfRuns(em: EntityManager, lenderId: string, after: string | undefined) {
  const runs: ReconciliationRun[] = await readRuns(em, lenderId, { after, limit: RUNS_A_PAGE + 1 });
  const page = runs.slice(0, RUNS_A_PAGE);
  return { runs: page, next: runs.length > RUNS_A_PAGE ? page.at(-1)!.id : null };
}
