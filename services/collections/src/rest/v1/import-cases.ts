import { AMOUNT_FIELDS } from "@collections/cases";
import { type ImportRequest, type ImportResult, MAX_IMPORT_ROWS } from "@collections/flows";
import { z } from "zod";
import { fieldFaults, unknownFieldWarnings } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import { isOn, switchFaults, unknownParameterWarnings } from "../query-parameters.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";
import { idOfRequest } from "../same-request.ts";

/** The body of an import (contract: Partner endpoints, POST cases). Rows are judged one by one, not here. */
export const importBody = z.object({
  rows: z
    .array(z.unknown(), { error: ({ input }) => (input === undefined ? "is required" : "takes an array of rows") })
    .meta({ description: `Case rows, at most ${MAX_IMPORT_ROWS}.` }),
  dryRun: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({ description: "Check and answer as for an import, but keep nothing. Either this or the query says it." }),
  atomic: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({ description: "Apply all rows or, when one is rejected, none. Either this or the query says it." }),
});

export const SWITCHES = ["dryRun", "atomic"];

/** POST /api/v1/partner/cases: applies the rows of a file, or rehearses it. */
export async function importCases(
  request: SignedRequest,
  apply: (asked: ImportRequest) => Promise<ImportResult>,
): Promise<Answer> {
  const { rows, dryRun, atomic, warnings } = readImport(request);
  const importId = idOfRequest(request);
  const { isRefused, ...result } = await apply({ lender: request.lender, rows, dryRun, atomic, importId });
  const answer = { ...result, ...warnings };
  if (isRefused) {
    const detail = result.success
      ? "This request was refused before, so nothing was applied; sign the rows anew."
      : `${result.summary.rejected} of ${rows.length} rows are wrong; nothing was applied.`;
    throw new Problem("IMPORT_REJECTED", detail, answer);
  }
  return { status: 200, body: answer };
}

function readImport(request: SignedRequest) {
  const body = jsonObject(request, AMOUNT_FIELDS);
  const parsed = importBody.safeParse(body);
  const found = [
    ...unknownParameterWarnings(request.query, SWITCHES),
    ...unknownFieldWarnings(body, Object.keys(importBody.shape)),
  ];
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults = switchFaults(request.query, SWITCHES);
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
