/** Columns that the file of rejected rows adds. They are ignored when the corrected file is imported. */
export const REJECTED_COLUMNS = ["Rejected line", "Rejected because"] as const;

/** Returns a name in its normal form, which is the same for "Mob. No", "MOB_NO" and "mob no". */
export function normalised(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/** Fields whose cells are read together: a column decides how each of its cells is read. */
export type CellKind = "identity" | "amount" | "day";

/** The fields of one kind of file, and the names of their columns. */
export interface ColumnRules<Field extends string> {
  /** Names of columns for each field, besides the name of the field itself. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** Names that may mean several fields. */
  readonly ambiguous: Readonly<Record<string, readonly Field[]>>;
  /** Fields that may have several columns. */
  readonly many: ReadonlySet<Field>;
  /** The field that says which loan a row is about. */
  readonly loan: Field;
  /** The kinds of the fields that have one. */
  readonly kinds: Readonly<Record<string, CellKind>>;
  /** Whether `--map` may name a field `metadata.<name>`. */
  readonly hasMetadata: boolean;
  /** Returns the fields that a file must have a column for, given the fields that it has. */
  required(found: ReadonlySet<Field>): readonly Field[];
}

/** Finds the field of each column of a file. */
export class ColumnNames<Field extends string> {
  readonly fields: readonly Field[];
  readonly rules: ColumnRules<Field>;
  readonly #byName: ReadonlyMap<string, Field>;
  readonly #ambiguous: ReadonlyMap<string, readonly Field[]>;

  constructor(rules: ColumnRules<Field>) {
    this.rules = rules;
    this.fields = Object.keys(rules.names) as Field[];
    const named = this.fields.flatMap((field) => [field, ...rules.names[field]!].map((name) => [name, field] as const));
    this.#byName = new Map(named.map(([name, field]) => [normalised(name), field]));
    this.#ambiguous = new Map(Object.entries(rules.ambiguous).map(([name, fields]) => [normalised(name), fields]));
  }

  /** Returns the field that a column with this name usually has; undefined for an ambiguous or unknown name. */
  fieldOf(name: string): Field | undefined {
    return this.#byName.get(normalised(name));
  }

  /** Returns the fields that a column with an ambiguous name may have; undefined for any other name. */
  possibleFieldsOf(name: string): readonly Field[] | undefined {
    return this.#ambiguous.get(normalised(name));
  }

  /** Returns the field that a column of this name may have, or a text for an ambiguous name; undefined for others. */
  knownName(name: string): string | undefined {
    const key = normalised(name);
    return this.#byName.get(key) ?? (this.#ambiguous.has(key) ? `ambiguous ${key}` : undefined);
  }

  kindOf(field: Field): CellKind | undefined {
    return this.rules.kinds[field];
  }

  /** Returns the field that `--map` names by `text`, in upper or lower case. Returns undefined for an unknown field. */
  fieldNamed(text: string): Field | undefined {
    const pair = this.rules.hasMetadata ? /^metadata\.(.+)$/i.exec(text.trim()) : null;
    if (pair) return `metadata.${pair[1]!}` as Field;
    return this.fields.find((field) => field.toLowerCase() === text.trim().toLowerCase());
  }
}
