import { AMOUNT_FIELDS } from "@collections/cases";
import { type ImportRequest, type ImportResult, MAX_IMPORT_ROWS } from "@collections/flows";
import { z } from "zod";
import { fieldFaults, unknownFieldWarnings } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import { Problem, validationProblem } from "../problem.ts";
import type { Answer, SignedRequest } from "../request-context.ts";

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

/** POST /api/v1/partner/cases: applies the rows of a file, or rehearses it. */
export async function importCases(
  request: SignedRequest,
  apply: (asked: ImportRequest) => Promise<ImportResult>,
): Promise<Answer> {
  const body = jsonObject(request, AMOUNT_FIELDS);
  const parsed = importBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(importBody.shape));
  if (!parsed.success) throw validationProblem(fieldFaults(parsed.error, body));
  const { rows } = parsed.data;
  if (rows.length > MAX_IMPORT_ROWS) {
    throw new Problem("TOO_MANY_ROWS", `Send at most ${MAX_IMPORT_ROWS} rows at a time; got ${rows.length}.`);
  }
  const dryRun = parsed.data.dryRun === true || flag(request.query, "dryRun");
  const atomic = parsed.data.atomic === true || flag(request.query, "atomic");
  const result = await apply({ lender: request.lender, rows, dryRun, atomic });
  const answer = warnings.length > 0 ? { ...result, warnings } : result;
  if (atomic && !result.success) {
    const detail = `${result.summary.rejected} of ${rows.length} rows are wrong; nothing was applied.`;
    throw new Problem("IMPORT_REJECTED", detail, { ...answer });
  }
  return { status: 200, body: answer };
}

/** A switch of the query string: bare, `true` or `1` is on; absent, `false` or `0` is off. */
function flag(query: URLSearchParams, name: string): boolean {
  const values = query.getAll(name).map((value) => value.toLowerCase());
  const odd = values.find((value) => !["", "true", "1", "false", "0"].includes(value));
  if (odd !== undefined) {
    const detail = `The query parameter ${name} takes true or false; got ${JSON.stringify(odd.slice(0, 40))}.`;
    throw validationProblem([{ code: "INVALID_ENUM", pointer: "", detail }]);
  }
  return values.some((value) => value === "" || value === "true" || value === "1");
}
