import { AMOUNT_FIELDS } from "@collections/cases";
import { MAX_IMPORT_ROWS } from "@collections/flows";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import { idOfRequest } from "../caller/same-request.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { KIB, type SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { isOn, switchFaults, switchParameter, unknownParameterWarnings } from "../reading/query-parameters.ts";
import {
  acceptedRowAnswer,
  importAnswer,
  rejectedRowAnswer,
  rowFaultAnswer,
  rowWarningAnswer,
} from "./import-answer.ts";
import { importRequestExample, importResultExample, rejectedRowsExample } from "./import-examples.ts";
import { controlRow, upsertRow } from "./import-row.ts";

const PARAMETERS = [
  switchParameter("dryRun", "Check the rows and answer, but store nothing. You can also set this in the body."),
  switchParameter("atomic", "Apply all rows or, if one is rejected, none. You can also set this in the body."),
];

/** The body as the service parses it (contract: POST cases: import). Its rows are checked later, one by one. */
const importBody = z.object({
  rows: z
    .array(z.unknown(), { error: ({ input }) => (input === undefined ? "is required" : "takes an array of rows") })
    .meta({ description: `The rows, at most ${MAX_IMPORT_ROWS}.` }),
  dryRun: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({
      description:
        "Check the rows and answer as for an import, but store nothing. You can also set this in the query " +
        "string.",
    }),
  atomic: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({ description: "Apply all rows or, if one is rejected, none. You can also set this in the query string." }),
});

/** The body as the OpenAPI document describes it: with the fields of its rows. */
const importBodyWithRows = importBody.extend({
  rows: z
    .array(z.union([upsertRow, controlRow]))
    .max(MAX_IMPORT_ROWS)
    .meta({ description: `The rows, at most ${MAX_IMPORT_ROWS}.` }),
});

/** Applies rows to a lender's cases, or checks them in a dry run (contract: Partner endpoints). */
export const importCases: SignedEndpoint = {
  name: "import",
  method: "POST",
  path: "/api/v1/partner/cases",
  limitBytes: 5 * KIB * KIB,
  refusedWhileSuspended: true,
  operation: {
    id: "importCases",
    tag: "Cases",
    summary: "Import cases, or check them in a dry run",
    description: [
      "The loan number is the key: a row updates the loan's current case or, if there is none, creates a case. A row that",
      "changes nothing is `unchanged`, so you may send the same file any number of times. A rejected row does not prevent",
      "the other rows from being applied, unless `atomic` is set. A request with the same signature is applied only once:",
      "its repeat gets the same `importId` and does not undo later changes. The query string is not signed. The first",
      "request with a signature determines `dryRun` and `atomic`, and a repeat with another query string changes nothing.",
    ].join("\n"),
    parameters: PARAMETERS,
    request: {
      schemas: { ImportRequest: importBodyWithRows, UpsertRow: upsertRow, ControlRow: controlRow },
      required: true,
      examples: { "Two loans, and a case taken back": importRequestExample },
    },
    answers: {
      200: {
        description: "One result for each row. `success` is true if no row was rejected.",
        schemas: {
          ImportResult: importAnswer,
          AcceptedRow: acceptedRowAnswer,
          RejectedRow: rejectedRowAnswer,
          RowFault: rowFaultAnswer,
          RowWarning: rowWarningAnswer,
        },
        examples: { "Rows that were applied": importResultExample, "Rows that were rejected": rejectedRowsExample },
      },
    },
    problems: ["REQUIRED", "WRONG_TYPE", "INVALID_ENUM", "TOO_MANY_ROWS", "IMPORT_REJECTED"],
  },
  handle: applyRows,
};

async function applyRows(request: SignedRequest, app: App): Promise<Answer> {
  const { rows, dryRun, atomic, warnings } = readImport(request);
  const importId = idOfRequest(request);
  const { isRefused, ...result } = await app.importCases({ lender: request.lender, rows, dryRun, atomic, importId });
  const answer = { ...result, ...warnings };
  if (isRefused) {
    const detail = result.success
      ? "This request was refused before, so nothing was applied; send the rows with a new signature."
      : `${result.summary.rejected} of ${rows.length} rows are wrong; nothing was applied.`;
    throw new Problem("IMPORT_REJECTED", detail, answer);
  }
  return { status: 200, body: answer };
}

function readImport(request: SignedRequest) {
  const body = jsonObject(request, AMOUNT_FIELDS);
  const parsed = importBody.safeParse(body);
  const found = [
    ...unknownParameterWarnings(request.query, PARAMETERS),
    ...unknownFieldWarnings(body, Object.keys(importBody.shape)),
  ];
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults = switchFaults(request.query, PARAMETERS);
  if (!parsed.success) faults.push(...fieldFaults(parsed.error, body));
  if (!parsed.success || faults.length > 0) throw validationProblem(faults, warnings);
  const { rows, dryRun, atomic } = parsed.data;
  if (rows.length > MAX_IMPORT_ROWS) {
    const detail = `Send at most ${MAX_IMPORT_ROWS} rows at a time; got ${rows.length}.`;
    throw new Problem("TOO_MANY_ROWS", detail, warnings);
  }
  return {
    rows,
    dryRun: dryRun === true || isOn(request.query, "dryRun"),
    atomic: atomic === true || isOn(request.query, "atomic"),
    warnings,
  };
}
