import { AMOUNT_FIELDS, nearestName } from "@collections/cases";
import { type ImportRequest, type ImportResult, MAX_IMPORT_ROWS } from "@collections/flows";
import { z } from "zod";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import { type FieldFault, Problem, validationProblem } from "../problem.ts";
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

const SWITCHES = ["dryRun", "atomic"] as const;
const SWITCH_VALUES: ReadonlyMap<string, boolean> = new Map([
  ["", true],
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
const MAX_SHOWN = 20;
const MAX_SHOWN_CHARACTERS = 40;

/** POST /api/v1/partner/cases: applies the rows of a file, or rehearses it. */
export async function importCases(
  request: SignedRequest,
  apply: (asked: ImportRequest) => Promise<ImportResult>,
): Promise<Answer> {
  const { rows, dryRun, atomic, warnings } = readImport(request);
  const result = await apply({ lender: request.lender, rows, dryRun, atomic });
  const answer = { ...result, ...warnings };
  if (atomic && !result.success) {
    const detail = `${result.summary.rejected} of ${rows.length} rows are wrong; nothing was applied.`;
    throw new Problem("IMPORT_REJECTED", detail, answer);
  }
  return { status: 200, body: answer };
}

function readImport(request: SignedRequest) {
  const body = jsonObject(request, AMOUNT_FIELDS);
  const parsed = importBody.safeParse(body);
  const found = [
    ...unknownParameterWarnings(request.query),
    ...unknownFieldWarnings(body, Object.keys(importBody.shape)),
  ];
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults = switchFaults(request.query);
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

/** Switches of the query string that say neither yes nor no: whatever the body says, somebody meant something. */
function switchFaults(query: URLSearchParams): FieldFault[] {
  return SWITCHES.flatMap((name) => {
    const odd = query.getAll(name).find((value) => !SWITCH_VALUES.has(value));
    if (odd === undefined) return [];
    const detail = `The query parameter ${name} takes true, 1, false or 0; got ${shown(odd)}.`;
    return [{ code: "INVALID_ENUM", pointer: "", detail }];
  });
}

function isOn(query: URLSearchParams, name: (typeof SWITCHES)[number]): boolean {
  return query.getAll(name).some((value) => SWITCH_VALUES.get(value) === true);
}

/** `?dryrun=true` imports for real: the sender hears of it. */
function unknownParameterWarnings(query: URLSearchParams): Warning[] {
  const known: ReadonlySet<string> = new Set(SWITCHES);
  const unknown = [...new Set(query.keys())].filter((name) => !known.has(name));
  return unknown.slice(0, MAX_SHOWN).map((name) => {
    const nearest = nearestName(name, known);
    const hint = nearest === undefined ? "" : ` Did you mean ${nearest}?`;
    return { code: "UNKNOWN_PARAMETER", pointer: "", detail: `The query parameter ${shown(name)} was ignored.${hint}` };
  });
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN_CHARACTERS));
}
