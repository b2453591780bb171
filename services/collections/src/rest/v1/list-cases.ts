import { CASE_STATUSES, type CaseStatus } from "@collections/cases";
import { listCases as readCases } from "@collections/flows";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { type FieldFault, validationProblem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { nextCursorAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { Parameter, SignedEndpoint } from "../endpoint/endpoint.ts";
import { encodeCursor, readCursor } from "../reading/list-cursor.ts";
import { CURSOR, readTime, STABLE_ORDER, timeParameter } from "../reading/list-parameters.ts";
import { type ParameterReading, readParameter, unknownParameterWarnings } from "../reading/query-parameters.ts";
import { caseStateAnswer, caseStateExample, caseTimesAnswer, caseTimesExample } from "./case-answer.ts";

const NAME = "cases-list";

const PARAMETERS: readonly Parameter[] = [
  {
    name: "status",
    in: "query",
    description: `Only cases with this status, or with one of several statuses, separated by commas: ${CASE_STATUSES.join(", ")}.`,
    schema: { type: "string" },
    example: "collected,closed",
  },
  timeParameter("updatedSince", "Only cases with an `updatedAt` at this time or later."),
  CURSOR,
];

const listedCaseAnswer = z
  .object({ ...caseStateAnswer, ...caseTimesAnswer })
  .meta({ description: "The state of a loan's current case, with the names of the case snapshot." });

const casesAnswer = z
  .object({
    success: successAnswer,
    cases: z
      .array(listedCaseAnswer)
      .max(500)
      .meta({ description: "A page of cases, in the order in which they were created." }),
    nextCursor: nextCursorAnswer,
    warnings: warningsAnswer,
  })
  .meta({ description: "A page of the current cases of your loans." });

const casesExample = { success: true, cases: [{ ...caseStateExample, ...caseTimesExample }], nextCursor: null };

/** Lists the current cases of a lender's loans in the order in which they were created (contract: GET cases). */
export const listCases: SignedEndpoint = {
  name: NAME,
  method: "GET",
  path: "/api/v1/partner/cases",
  operation: {
    id: "listCases",
    tag: "Cases",
    summary: "List the current cases of your loans",
    description: [
      "Each case has the fields of `GET …/cases/{loan}` except for its latest visit, its link and its payments. To read what has",
      "changed since your last walk through the list, set `updatedSince` to the latest `updatedAt` that you have received, minus",
      "15 minutes: a change can become visible some minutes after its `updatedAt`. A case that changes after its page was read is",
      "in your next walk. Each parameter may be given at most once.",
      STABLE_ORDER,
    ].join("\n"),
    parameters: PARAMETERS,
    answers: {
      200: {
        description: "A page of cases.",
        schemas: { Cases: casesAnswer, ListedCase: listedCaseAnswer },
        examples: { "A case in progress": casesExample },
      },
    },
    problems: ["VALIDATION_FAILED", "WRONG_TYPE", "INVALID_DATE", "NOT_UTC", "INVALID_ENUM"],
  },
  handle: answerCases,
};

async function answerCases(request: SignedRequest, { database }: App): Promise<Answer> {
  const { filter, owner, after, warnings } = readList(request);
  const page = await readCases(database.em(), request.lender.id, filter, after);
  const nextCursor = page.next === null ? null : encodeCursor(owner, page.next);
  return { status: 200, body: { success: true, cases: page.items, nextCursor, ...warnings } };
}

function readList({ query, lender }: SignedRequest) {
  const found = unknownParameterWarnings(query, PARAMETERS);
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults: FieldFault[] = [];
  const statuses = readParameter(query, "status", faults, readStatuses);
  const updatedSince = readParameter(query, "updatedSince", faults, readTime);
  const owner = [NAME, lender.id, statuses ?? null, updatedSince ?? null];
  // With a wrong parameter, the cursor cannot be compared with the parameters.
  const isWrong = faults.length > 0;
  const after = isWrong ? undefined : readParameter(query, "cursor", faults, (text) => readCursor(owner, text));
  if (faults.length > 0) throw validationProblem(faults, warnings);
  return { filter: { statuses, updatedSince }, owner, after, warnings };
}

/** Reads statuses that are separated by commas. Returns each once, in the order of `CASE_STATUSES`. */
function readStatuses(text: string): ParameterReading<CaseStatus[]> {
  const named = new Set(text.split(","));
  const statuses = CASE_STATUSES.filter((status) => named.has(status));
  return statuses.length === named.size
    ? { value: statuses }
    : { code: "INVALID_ENUM", words: `takes one or more of ${CASE_STATUSES.join(", ")}, separated by commas` };
}
