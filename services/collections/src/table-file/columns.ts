import { nearestName } from "@collections/cases";
import { type ColumnNames, normalised, REJECTED_COLUMNS } from "./column-names.ts";

/** One column with a target: a field of an import row, or of another kind of row. */
export interface Column<Field extends string> {
  readonly name: string;
  readonly index: number;
  readonly target: Field;
}

/** The columns of a file and their targets. */
export interface Columns<Field extends string> {
  readonly header: readonly string[];
  readonly used: readonly Column<Field>[];
  /** Names of columns without a target. */
  readonly unknown: readonly string[];
}

/** One `--map` option: the target of a column, or undefined to ignore the column. */
export interface MapOption<Field extends string> {
  readonly column: string;
  readonly target: Field | undefined;
}

/**
 * The header has columns whose targets are not clear. The message has one sentence per problem, which says what to do.
 */
export class ColumnsNotUnderstoodError extends Error {
  override readonly name = "ColumnsNotUnderstoodError";
  readonly code = "COLUMNS_NOT_UNDERSTOOD";

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
  }
}

/** Reads `Column=target`, or `Column=-` for a column to ignore. `fault` is a sentence that says what is wrong. */
export function readMapOption<Field extends string>(
  text: string,
  names: ColumnNames<Field>,
): MapOption<Field> | { readonly fault: string } {
  const at = text.lastIndexOf("=");
  if (at < 1) return { fault: `"${text}" is not in the form Column=field.` };
  const [column, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (name === "-") return { column, target: undefined };
  const target = names.fieldNamed(name);
  if (target !== undefined) return { column, target };
  const nearest = nearestName(name, new Set<string>(names.fields));
  const all = `${names.fields.join(", ")}${names.rules.hasMetadata ? " and metadata.<name>" : ""}`;
  const hint = nearest === undefined ? `The fields are ${all}` : `Is it ${nearest}`;
  return { fault: `There is no field ${name}. ${hint}${nearest === undefined ? "." : "?"}` };
}

/**
 * Decides the target of each column of the header. Throws ColumnsNotUnderstoodError, which names all problems. If a
 * column is missing, the error shows the header as it was read.
 */
export function readColumns<Field extends string>(
  { header, headerLine, separator }: HeaderOfFile,
  options: readonly MapOption<Field>[],
  names: ColumnNames<Field>,
): Columns<Field> {
  const { many } = names.rules;
  const problems = options.flatMap(({ column }) => unclearColumn(header, column));
  const mapped = new Map(options.map(({ column, target }) => [normalised(column), target]));
  const mappedTargets = new Set(mapped.values());
  const ignored = new Set(REJECTED_COLUMNS.map(normalised));
  const [used, unknown]: [Column<Field>[], string[]] = [[], []];
  for (const [index, name] of header.entries()) {
    const key = normalised(name);
    if (ignored.has(key) || (mapped.has(key) && mapped.get(key) === undefined)) continue;
    const target = mapped.get(key) ?? names.fieldOf(name);
    // If `--map` names another column for this target, do not use this column for it.
    if (target !== undefined && (mapped.has(key) || many.has(target) || !mappedTargets.has(target))) {
      used.push({ name, index, target });
      continue;
    }
    const possible = target === undefined ? names.possibleFieldsOf(name) : undefined;
    const open = possible?.filter((one) => !mappedTargets.has(one)) ?? [];
    if (open.length > 0 && !isSettled(open, header, names)) problems.push(ambiguity(name, open));
    else if (key !== "") unknown.push(name);
  }
  const absent = missing(used, names);
  problems.push(...twice(used, many), ...absent);
  if (absent.length > 0) problems.push(headerText({ header, headerLine, separator }));
  if (problems.length > 0) throw new ColumnsNotUnderstoodError(problems);
  return { header, used, unknown };
}

/** The header of a file as it was read. */
export interface HeaderOfFile {
  readonly header: readonly string[];
  /** The line of the header, counted from 1. */
  readonly headerLine: number;
  readonly separator: string;
}

const SEPARATOR_NAMES: Readonly<Record<string, string>> = {
  ",": "commas",
  ";": "semicolons",
  "\t": "tabs",
  "|": "bars",
};

/** Returns the name of a separator in the plural: commas, semicolons. */
export function separatorName(separator: string): string {
  return SEPARATOR_NAMES[separator] ?? `"${separator}"`;
}

const SHOWN_NAMES = 40;

function headerText({ header, headerLine, separator }: HeaderOfFile): string {
  const names = header.slice(0, SHOWN_NAMES).map((name) => `"${name.slice(0, 60).toWellFormed()}"`);
  const more = header.length > SHOWN_NAMES ? ` and ${header.length - SHOWN_NAMES} more` : "";
  return (
    `The header was read in line ${headerLine}, separated by ${separatorName(separator)}: ${names.join(", ")}${more}. ` +
    "If this is not the header, give its line with --header-line, or the separator with --separator."
  );
}

/** Returns the name of the column that contains a field, in quotation marks. `pointer` is `/rows/<index>/<field>…`. */
export function columnAt({ used }: Columns<string>, pointer: string): string | undefined {
  const [field = "", part = "", inner] = pointer
    .split("/")
    .slice(3)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  // The list of phone numbers leaves out empty cells, so an index in the list does not identify one column. Name all
  // columns of phone numbers.
  if (field === "alternatePhones") return namesOf(used.filter(({ target }) => target === field));
  const target = field === "addresses" ? `address.${inner}` : part === "" ? field : `${field}.${part}`;
  const column = used.find((one) => one.target === target);
  return column && namesOf([column]);
}

/**
 * Returns true if other columns, whose names are unambiguous, already cover all possible targets of an ambiguous
 * column. Then the ambiguous column has no target. Example: "Balance" beside columns for outstandingAmount and
 * minimumAmount.
 */
function isSettled<Field extends string>(
  possible: readonly Field[],
  header: readonly string[],
  names: ColumnNames<Field>,
): boolean {
  const clear = new Set(header.map((name) => names.fieldOf(name)));
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

function ambiguity(name: string, possible: readonly string[]): string {
  const options = possible.map((target) => `--map "${name}=${target}"`).join(" or ");
  return `Column "${name}" could have several meanings. Choose one by ${options}, or ignore the column by --map "${name}=-".`;
}

function twice<Field extends string>(used: readonly Column<Field>[], many: ReadonlySet<Field>): string[] {
  const byTarget = Map.groupBy(used, ({ target }) => target);
  return [...byTarget].flatMap(([target, columns]) => {
    if (columns.length < 2 || many.has(target)) return [];
    const names = namesOf(columns);
    if (new Set(columns.map(({ name }) => normalised(name))).size < columns.length) {
      return [`Columns ${names} could both be ${target}, and have the same name: rename one.`];
    }
    return [`Columns ${names} could both be ${target}. Choose one by --map "${columns[0]!.name}=${target}".`];
  });
}

function namesOf(columns: readonly Column<string>[]): string {
  return columns.map(({ name }) => `"${name}"`).join(" and ");
}

/** Reports the required targets that have no column. */
function missing<Field extends string>(used: readonly Column<Field>[], { rules }: ColumnNames<Field>): string[] {
  const found = new Set(used.map(({ target }) => target));
  return rules
    .required(found)
    .flatMap((target) =>
      found.has(target) ? [] : [`No column for ${target} was found. Name one by --map "Column=${target}".`],
    );
}
