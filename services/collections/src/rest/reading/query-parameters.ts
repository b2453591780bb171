import { nearestName } from "@collections/cases";
import type { FieldFault, ProblemCode } from "../../http/problem.ts";
import type { Parameter } from "../endpoint/endpoint.ts";
import type { Warning } from "./field-faults.ts";

/** A parameter's value, or its fault. `words` completes a sentence such as "The query parameter limit …". */
export type ParameterReading<Value> = { value: Value } | { code: ProblemCode; words: string };

const SWITCH_VALUES: ReadonlyMap<string, boolean> = new Map([
  ["", true],
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
const MAX_SHOWN = 20;
const MAX_SHOWN_CHARACTERS = 40;

/** Describes a query parameter that means yes or no. */
export function switchParameter(name: string, description: string): Parameter {
  return {
    name,
    in: "query",
    description: `${description} No value, \`true\` and \`1\` mean yes; \`false\` and \`0\` mean no.`,
    schema: { type: "string", enum: [...SWITCH_VALUES.keys()] },
  };
}

/**
 * Reads a query parameter that may be given once. Returns undefined if it is absent or wrong; if it is wrong, its fault
 * is added to `faults`.
 */
export function readParameter<Value>(
  query: URLSearchParams,
  name: string,
  faults: FieldFault[],
  read: (text: string) => ParameterReading<Value>,
): Value | undefined {
  const [text, ...others] = query.getAll(name);
  if (text === undefined) return undefined;
  const reading = others.length > 0 ? ({ code: "WRONG_TYPE", words: "is given twice" } as const) : read(text);
  if ("value" in reading) return reading.value;
  faults.push({
    code: reading.code,
    pointer: "",
    detail: `The query parameter ${name} ${reading.words}; got ${shown(text)}.`,
  });
  return undefined;
}

/**
 * Returns a fault for each yes-or-no parameter in the query string whose value is neither yes nor no. A field of the
 * body with the same name and a valid value does not prevent the fault.
 */
export function switchFaults(query: URLSearchParams, switches: readonly Parameter[]): FieldFault[] {
  return switches.flatMap(({ name }) => {
    const odd = query.getAll(name).find((value) => !SWITCH_VALUES.has(value));
    if (odd === undefined) return [];
    const detail = `The query parameter ${name} takes true, 1, false or 0; got ${shown(odd)}.`;
    return [{ code: "INVALID_ENUM", pointer: "", detail }];
  });
}

/** Whether a yes-or-no parameter means yes: its value is empty, `true` or `1`. */
export function isOn(query: URLSearchParams, name: string): boolean {
  return query.getAll(name).some((value) => SWITCH_VALUES.get(value) === true);
}

/** Returns a warning for each unknown parameter, such as `?dryrun=true` for `?dryRun=true`. */
export function unknownParameterWarnings(query: URLSearchParams, parameters: readonly Parameter[]): Warning[] {
  const known = new Set(parameters.map(({ name }) => name));
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
