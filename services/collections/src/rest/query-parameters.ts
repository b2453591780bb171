import { nearestName } from "@collections/cases";
import type { Warning } from "./field-faults.ts";
import type { FieldFault, ProblemCode } from "../http/problem.ts";

/** A parameter's value, or what is wrong with it: words that go on after "The query parameter …". */
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

/** Reads a parameter that may stand once. Undefined when it is absent, or at fault: then `faults` has one more. */
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

/** A switch that says neither yes nor no: whatever the body says, somebody meant something. */
export function switchFaults(query: URLSearchParams, names: readonly string[]): FieldFault[] {
  return names.flatMap((name) => {
    const odd = query.getAll(name).find((value) => !SWITCH_VALUES.has(value));
    if (odd === undefined) return [];
    const detail = `The query parameter ${name} takes true, 1, false or 0; got ${shown(odd)}.`;
    return [{ code: "INVALID_ENUM", pointer: "", detail }];
  });
}

/** Whether a switch is on: bare, `true` or `1`. */
export function isOn(query: URLSearchParams, name: string): boolean {
  return query.getAll(name).some((value) => SWITCH_VALUES.get(value) === true);
}

/** `?dryrun=true` is not a rehearsal: the sender hears of it. */
export function unknownParameterWarnings(query: URLSearchParams, names: readonly string[]): Warning[] {
  const known = new Set(names);
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
