/** A step of the schema with its package's name: "cases/0001". */
export interface Step {
  readonly name: string;
  readonly statements: readonly string[];
}

/** What is wrong with a statement, while processes of the version before go on beside the new schema. */
export interface StepFault {
  readonly step: string;
  readonly rule: Rule;
  readonly statement: string;
}

/** Why each is refused, for whoever reads it in a failed test. */
export const RULES = {
  drop: "an older process still reads and writes it: leave it until no such process runs, and drop it in a later release",
  rename:
    "an older process knows the old name only: add the new one beside it, and drop the old one in a later release",
  "column-type":
    "an older process reads and writes the old type, and the table is written anew under a lock: add a column",
  "not-null": "an older process writes rows without it: give it a constant default, or allow null",
  "null-allowed": "an older process has never read null there: add a column, or wait until no such process runs",
  "default-taken": "an older process relies on the default where it says nothing",
  constraint:
    "an older process may write what it forbids, and rows are checked under a lock: allow it first, in all writes",
  "unique-index": "an older process may write what it forbids, and the table is locked while it is made",
  index:
    "the table cannot be written while it is made: make it CONCURRENTLY before the release, as operators do, and say so",
  rewrite: "the whole table is written anew under a lock: add it without, and fill it in by a job",
  backfill: "rows stay locked until the migration ends: fill them in by a job, some at a time",
  replaced: "an older process calls it, or fires a trigger that does: make another one, under a name of its own",
  trigger: "it judges what an older process writes, which does not know of it",
  "constraint-beside-others":
    "a cluster of Citus adds a constraint only by a statement of its own: split the ALTER TABLE, and name the constraint there",
  "constraint-of-column":
    "a cluster of Citus adds no column with a constraint: add the column, then the constraint by a statement of its own",
  "statistics-target": "Citus does not pass it on to the workers, and refuses it: leave it out",
  "attached-table":
    "Citus makes no distributed table a partition of another one: make a new partition, and move the rows by a job",
  unjudged: "nobody has said how an older process lives beside this form of statement: say so in migration-rules.ts",
} as const;

export type Rule = keyof typeof RULES;

const CREATED = /^create (?:unlogged )?table (?:if not exists )?([\w."]+)/;
const ALTER = /^alter table (?:if exists )?(?:only )?([\w."]+) (.*)$/;
/** What ADD says in place of a column's name. */
const NO_COLUMN = new Set(["if", "constraint", "check", "unique", "primary", "foreign", "exclude"]);
const ADD_CONSTRAINT = /^add (constraint|check|unique|primary|foreign|exclude)\b/;
const ATTACH = /^attach partition ([\w."]+)/;
const PARTITION = /^create (?:unlogged )?table (?:if not exists )?[\w."]+ partition of ([\w."]+)/;
const INDEX = /^create (unique )?index (?:concurrently )?(?:if not exists )?(?:([\w"]+) )?on (?:only )?([\w."]+)/;
const FUNCTION = /^create (or replace )?(?:function|procedure) ([\w."]+)/;
/** PostgreSQL fills such a column in row by row. */
const FILLED_ROW_BY_ROW = /\bgenerated\b|serial\b/;
const DEFAULT =
  /\bdefault (.*?)(?= (?:not null|null|check|unique|primary|references|constraint|collate|generated)\b|$)/;
/** Whatever function a default calls may differ by row; now() is one moment, and costs nothing. A type is none. */
const CALL = /(?<![\w.:])(?!now\s*\()[\w.]+\s*\(/;

/**
 * What of these steps an older process cannot live beside, and what a cluster of Citus refuses for a table that is
 * distributed already. Tables that the steps make themselves are nobody's yet.
 */
export function faultsOfSteps(steps: readonly Step[]): StepFault[] {
  const commands = steps.flatMap(({ name: step, statements }) =>
    statements.flatMap((text) => commandsIn(plain(text)).map((statement) => ({ step, statement }))),
  );
  const made = new Set<string>();
  // Columns by their tables, "cases.visit seen_at".
  const added = new Set<string>();
  return commands.flatMap(({ step, statement }) => {
    for (const column of columnsAddedBy(statement)) added.add(column);
    const rules = rulesBroken(statement, made, added);
    for (const name of madeBy(statement, made)) made.add(name);
    return rules.map((rule) => ({ step, rule, statement }));
  });
}

/** Tables and functions by their names, indexes without their schema. What may have been there before is not made. */
function madeBy(statement: string, made: ReadonlySet<string>): string[] {
  if (/^create \w+ (\w+ )?if not exists /.test(statement)) return [];
  const parent = PARTITION.exec(statement)?.[1];
  if (parent !== undefined && !made.has(parent)) return [];
  const [, replaces, name] = FUNCTION.exec(statement) ?? [];
  if (name !== undefined) return replaces ? [] : [name];
  return [CREATED.exec(statement)?.[1], INDEX.exec(statement)?.[2]].filter((one) => one !== undefined);
}

/** What may have been there before is not added. */
function columnsAddedBy(statement: string): string[] {
  const [, table, actions = ""] = ALTER.exec(statement) ?? [];
  return partsOf(actions).flatMap((part) => {
    const name = /^add (?:column )?([\w"]+)/.exec(part)?.[1];
    return name === undefined || NO_COLUMN.has(name) ? [] : [`${table} ${name}`];
  });
}

function rulesBroken(statement: string, made: ReadonlySet<string>, added: ReadonlySet<string>): Rule[] {
  const [, table, actions] = ALTER.exec(statement) ?? [];
  if (table !== undefined) {
    const attached = ATTACH.exec(actions!)?.[1];
    if (made.has(table)) return attached === undefined || made.has(attached) ? [] : ["attached-table"];
    const parts = partsOf(actions!);
    const rules = parts.flatMap((part) => rulesBrokenByPart(table, part, added));
    return parts.length > 1 && parts.some((part) => ADD_CONSTRAINT.test(part))
      ? [...rules, "constraint-beside-others"]
      : rules;
  }
  const parent = PARTITION.exec(statement)?.[1];
  if (parent !== undefined) return made.has(parent) ? [] : ["unjudged"];
  const created = CREATED.exec(statement)?.[1];
  if (created !== undefined) {
    // It is checked whenever an older process deletes there, and made under a lock.
    const referred = [...statement.matchAll(/\breferences ([\w."]+)/g)].map(([, name]) => name!);
    return referred.every((name) => name === created || made.has(name)) ? [] : ["constraint"];
  }
  if (/^(create (schema|sequence|type|view)|comment on|grant) /.test(statement)) return [];
  const definition = FUNCTION.exec(statement);
  if (definition) return definition[1] && !made.has(definition[2]!) ? ["replaced"] : [];
  const index = INDEX.exec(statement);
  if (index) return made.has(index[3]!) ? [] : [index[1] ? "unique-index" : "index"];
  const trigger = /^create (?:or replace )?(?:constraint )?trigger .*? on ([\w."]+)/.exec(statement);
  if (trigger) return made.has(trigger[1]!) ? [] : ["trigger"];
  const dropped = /^drop index (?:concurrently )?(?:if exists )?(.*?)(?: cascade| restrict)?$/.exec(statement)?.[1];
  if (dropped !== undefined && dropped.split(/\s*,\s*/).every((name) => made.has(name.replace(/^.*\./, "")))) return [];
  if (/^(drop|truncate|revoke) /.test(statement)) return ["drop"];
  if (/^alter .* (rename|set schema) /.test(statement)) return ["rename"];
  const written = /^(?:update|delete from|insert into) ([\w."]+)/.exec(statement);
  if (written) return made.has(written[1]!) ? [] : ["backfill"];
  return ["unjudged"];
}

/** One action of an ALTER TABLE of a table that older processes use. */
function rulesBrokenByPart(table: string, part: string, added: ReadonlySet<string>): Rule[] {
  if (/^rename |^set schema /.test(part)) return ["rename"];
  // What narrowed writes does so no longer; a key is what ON CONFLICT names.
  if (/^drop constraint (if exists )?\w+_(check|fkey)\b/.test(part)) return [];
  if (/^alter (column )?\S+ (set data )?type /.test(part)) return ["column-type"];
  if (/^alter (column )?\S+ set not null/.test(part)) return ["not-null"];
  if (/^alter (column )?\S+ drop not null/.test(part)) return ["null-allowed"];
  if (/^alter (column )?\S+ drop default/.test(part)) return ["default-taken"];
  const given = /^alter (?:column )?(\S+) set default /.exec(part)?.[1];
  if (given !== undefined) return added.has(`${table} ${given}`) ? [] : ["default-taken"];
  if (/^alter (column )?\S+ set statistics /.test(part)) return ["statistics-target"];
  if (part.startsWith("drop ")) return ["drop"];
  if (ADD_CONSTRAINT.test(part) || part.startsWith("validate ")) return ["constraint"];
  if (part.startsWith("set (")) return [];
  if (!part.startsWith("add ")) return ["unjudged"];
  const rules: Rule[] = [];
  if (/\bnot null\b/.test(part) && !/\bdefault\b/.test(part)) rules.push("not-null");
  if (FILLED_ROW_BY_ROW.test(part) || CALL.test(DEFAULT.exec(part)?.[1] ?? "")) rules.push("rewrite");
  if (/\b(check|unique|primary key|references)\b/.test(part)) rules.push("constraint");
  if (/\b(check|unique|primary key)\b/.test(part)) rules.push("constraint-of-column");
  return rules;
}

/** In one line, in small letters, without comments, and with what stands in quotes taken out: it is no command. */
function plain(sql: string): string {
  return sql
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/--[^\n]*|\/\*[\s\S]*?\*\//g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
    .toLowerCase();
}

function commandsIn(text: string): string[] {
  return text.split(/\s*;\s*/).filter((command) => command !== "");
}

/** Separated by commas, but for those in parentheses. */
function partsOf(actions: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const character of actions) {
    if (character === "(") depth += 1;
    if (character === ")") depth -= 1;
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}
