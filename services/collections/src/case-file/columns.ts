import { nearestName } from "@collections/cases";
import {
  normalised,
  possibleTargetsOf,
  REJECTED_COLUMNS,
  type Target,
  targetNamed,
  targetOf,
  TARGETS,
} from "./column-names.ts";

/** One column that is read. */
export interface Column {
  readonly name: string;
  readonly index: number;
  readonly target: Target;
}

/** How a file's columns are read. */
export interface Columns {
  readonly header: readonly string[];
  readonly used: readonly Column[];
  /** Names of columns that nobody reads. */
  readonly unknown: readonly string[];
}

/** Somebody's word on a column: its target, or undefined to leave it out. */
export interface MapOption {
  readonly column: string;
  readonly target: Target | undefined;
}

/** The header cannot be read as it is; `problems` are sentences that say what to do. */
export class ColumnsNotUnderstoodError extends Error {
  override readonly name = "ColumnsNotUnderstoodError";
  readonly code = "COLUMNS_NOT_UNDERSTOOD";

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

const MANY: ReadonlySet<Target> = new Set<Target>(["alternatePhones"]);
const REQUIRED: readonly Target[] = ["borrowerName", "borrowerPhone", "outstandingAmount"];

/** Reads `Column=target`, or `Column=-` for a column to leave out; a sentence says what is wrong. */
export function readMapOption(text: string): MapOption | { readonly fault: string } {
  const at = text.lastIndexOf("=");
  if (at < 1) return { fault: `"${text}" is not of the form Column=field.` };
  const [column, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (name === "-") return { column, target: undefined };
  const target = targetNamed(name);
  if (target !== undefined) return { column, target };
  const nearest = nearestName(name, new Set<string>(TARGETS));
  const hint = nearest === undefined ? `The fields are ${TARGETS.join(", ")} and metadata.<name>` : `Is it ${nearest}`;
  return { fault: `There is no field ${name}. ${hint}${nearest === undefined ? "." : "?"}` };
}

/** Decides what each column of the header holds. Throws ColumnsNotUnderstoodError with everything that is not clear. */
export function readColumns(header: readonly string[], options: readonly MapOption[]): Columns {
  const problems = options.flatMap(({ column }) => unclearColumn(header, column));
  const told = new Map(options.map(({ column, target }) => [normalised(column), target]));
  const toldTargets = new Set(told.values());
  const left = new Set(REJECTED_COLUMNS.map(normalised));
  const [used, unknown]: [Column[], string[]] = [[], []];
  for (const [index, name] of header.entries()) {
    const key = normalised(name);
    if (left.has(key) || (told.has(key) && told.get(key) === undefined)) continue;
    const target = told.get(key) ?? targetOf(name);
    // Who says where a field comes from says also where it does not come from.
    const isTold = told.has(key);
    if (target !== undefined && (isTold || MANY.has(target) || !toldTargets.has(target))) {
      used.push({ name, index, target });
      continue;
    }
    const possible = target === undefined ? possibleTargetsOf(name) : undefined;
    const open = possible?.filter((one) => !toldTargets.has(one)) ?? [];
    if (open.length > 0 && !isSettled(open, header)) problems.push(ambiguity(name, open));
    else if (key !== "") unknown.push(name);
  }
  problems.push(...twice(used), ...missing(used));
  if (problems.length > 0) throw new ColumnsNotUnderstoodError(problems);
  return { header, used, unknown };
}

/** The column that a field of an import row came from, in quotation marks; `pointer` is `/rows/<index>/<field>…`. */
export function columnAt({ used }: Columns, pointer: string): string | undefined {
  const [field = "", part = "", inner] = pointer
    .split("/")
    .slice(3)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  // Empty cells are no part of the list, so that its places say nothing.
  if (field === "alternatePhones") return namesOf(used.filter(({ target }) => target === field));
  const target = field === "addresses" ? `address.${inner}` : part === "" ? field : `${field}.${part}`;
  const column = used.find((one) => one.target === target);
  return column && namesOf([column]);
}

/** "Amount" beside a clear "Outstanding" and "EMI" holds neither of them. */
function isSettled(possible: readonly Target[], header: readonly string[]): boolean {
  const clear = new Set(header.map(targetOf));
  return possible.every((target) => clear.has(target));
}

function unclearColumn(header: readonly string[], column: string): string[] {
  const found = header.filter((name) => normalised(name) === normalised(column));
  if (found.length === 1) return [];
  if (found.length > 1) return [`The file has ${found.length} columns named "${column}": rename all but one.`];
  return [
    `--map: the file has no column "${column}". Its columns are ${header.map((name) => `"${name}"`).join(", ")}.`,
  ];
}

function ambiguity(name: string, possible: readonly Target[]): string {
  const options = possible.map((target) => `--map "${name}=${target}"`).join(" or ");
  return `Column "${name}" could hold one thing or another. Say which by ${options}, or --map "${name}=-" to leave it out.`;
}

function twice(used: readonly Column[]): string[] {
  const byTarget = Map.groupBy(used, ({ target }) => target);
  return [...byTarget].flatMap(([target, columns]) => {
    if (columns.length < 2 || MANY.has(target)) return [];
    const names = namesOf(columns);
    if (new Set(columns.map(({ name }) => normalised(name))).size < columns.length) {
      return [`Columns ${names} could both be ${target}, and have one name: rename one.`];
    }
    return [`Columns ${names} could both be ${target}. Say which by --map "${columns[0]!.name}=${target}".`];
  });
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => `"${name}"`).join(" and ");
}

/** A file of control rows only has no use for the balance and the borrower. */
function missing(used: readonly Column[]): string[] {
  const found = new Set(used.map(({ target }) => target));
  const needed = found.has("action") ? [] : REQUIRED;
  return (["sourceLoanNumber", ...needed] as const).flatMap((target) =>
    found.has(target) ? [] : [`No column is known to hold ${target}. Say which does by --map "Column=${target}".`],
  );
}
