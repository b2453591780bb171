import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { schemas } from "../../src/schemas.ts";
import { EXCEPTIONS } from "./fixtures/migration-exceptions.ts";
import { faultsOfSteps, type Rule, RULES, type Step, type StepFault } from "./fixtures/migration-rules.ts";

const RELEASED = fileURLToPath(new URL("../../migrations.released.json", import.meta.url));

const steps: readonly Step[] = schemas.flatMap(({ name: schema, migrations }) =>
  migrations.map(({ name, statements }) => ({ name: `${schema}/${name}`, statements })),
);
/** The hashes of the released migrations, by name. */
type Released = Readonly<Record<string, string>>;

// A release sets RELEASE_MIGRATIONS=yes, which records every migration. A recorded migration must never change.
if (process.env["RELEASE_MIGRATIONS"] === "yes") {
  writeFileSync(RELEASED, `${JSON.stringify(withNew(readReleased(), steps), null, 2)}\n`);
}
const released = readReleased();

describe("a released migration", () => {
  test("is unchanged, because existing databases do not run it again", () => {
    expect(faultsOfReleased(released, steps)).toEqual([]);
  });

  test("is reported when it is removed or changed", () => {
    const [first, ...others] = steps;
    expect(faultsOfReleased(released, others)).toEqual([
      `${first!.name} was removed: restore it, because existing databases have run it`,
    ]);
    const changed = { ...first!, statements: [...first!.statements, "select 1"] };
    expect(faultsOfReleased(released, [changed, ...others])).toEqual([
      `${first!.name} has changed: add a migration instead`,
    ]);
  });

  test("stays recorded at a release, and the release fails if a recorded migration was changed or removed", () => {
    const [first, second, ...others] = steps;
    const before = { [first!.name]: hashOf(first!) };
    expect(withNew(before, [first!, second!])).toEqual({ ...before, [second!.name]: hashOf(second!) });
    const changed = { ...first!, statements: ["select 1"] };
    expect(() => withNew(before, [changed, second!])).toThrow(`${first!.name} has changed`);
    expect(() => withNew(before, [second!, ...others])).toThrow(`${first!.name} was removed`);
  });
});

describe("an unreleased migration", () => {
  test("comes after the released migrations of its package", () => {
    const packages = new Set(steps.map(packageOf));
    for (const name of packages) {
      const own = steps.filter((step) => packageOf(step) === name).map((step) => step.name);
      expect(own).toEqual(own.toSorted());
      const known = own.filter((one) => one in released);
      expect(own.slice(0, known.length)).toEqual(known);
    }
  });

  test("follows every rule of migration-rules.ts, except where migration-exceptions.ts lists an exception", () => {
    const found = faultsOfSteps(steps.filter(({ name }) => !(name in released)));
    expect(found.filter(({ step, rule }) => !EXCEPTIONS[step]?.[rule]).map(described)).toEqual([]);
    const exceptions = Object.entries(EXCEPTIONS).flatMap(([step, rules]) =>
      Object.keys(rules).map((rule) => ({ step, rule })),
    );
    const unused = exceptions.filter(
      ({ step, rule }) => !found.some((fault) => fault.step === step && fault.rule === rule),
    );
    expect(unused, "unused exceptions: remove them from migration-exceptions.ts").toEqual([]);
  });

  test("may create tables and columns, and may change them in any way", () => {
    const statements = [
      "create table cases.note (lender_id uuid not null, id uuid not null, primary key (lender_id, id))",
      "create unique index note_once on cases.note (lender_id, id)",
      "alter table cases.note add column text text not null",
      "create trigger note_guard before update on cases.note for each row execute function cases.refuse()",
      "create function cases.noted() returns trigger language plpgsql as $$ begin drop table x; end $$",
      "alter table cases.visit add column seen_at timestamptz, add column kind text not null default 'door, or phone'",
      "alter table cases.visit set (fillfactor = 80), alter column kind set default 'phone'",
      "alter table cases.visit add column way text default 'a', alter way set default 'b'",
      "create table cases.log_old (id uuid); alter table cases.note attach partition cases.log_old default",
      "alter table cases.note add column a int, add constraint a check (a > 0), alter a set statistics 9",
      "create table cases.reply (id uuid primary key, to_id uuid references cases.reply (id), note uuid references cases.note)",
      "insert into cases.note select $1, $2 -- drop table cases.visit",
      "create or replace function cases.noted() returns trigger language plpgsql as $$ begin return new; end $$",
      "drop index if exists cases.note_once",
      "create table cases.log (id uuid) partition by range (id); create table cases.log_all partition of cases.log default",
      "create index log_by_id on cases.log_all (id); alter table cases.log_all set (fillfactor = 80)",
      "alter table cases.visit add column at timestamptz not null default now(), add column sum numeric(9,2) default 0::numeric(9,2)",
    ];
    expect(faultsOfSteps([{ name: "cases/9999", statements }])).toEqual([]);
  });
});

describe("the rules for migrations", () => {
  test.each<[Rule, string]>([
    ["drop", "drop table cases.visit"],
    ["drop", "alter table cases.visit drop column note"],
    ["drop", "alter table cases.visit drop constraint visit_pkey"],
    ["drop", "drop function cases.refuse"],
    ["drop", "truncate cases.visit"],
    ["drop", "drop index cases.visit_once"],
    ["drop", "drop index concurrently if exists cases.visit_once"],
    [
      "drop",
      "create table cases.a (id uuid); create index a_id on cases.a (id); drop index cases.a_id, cases.visit_once",
    ],
    ["drop", "create table if not exists cases.visit (id uuid); alter table cases.visit drop column note"],
    ["replaced", "create or replace function cases.remember_gone_case() returns trigger as $$ begin raise; end $$"],
    ["drop", "create table cases.a (id uuid); drop view cases.b"],
    ["rename", "alter table cases.visit rename to call"],
    ["rename", "alter table cases.visit rename column note to text"],
    ["rename", "alter index cases.visit_pkey rename to visit_key"],
    ["column-type", "alter table cases.visit alter column note type varchar(9)"],
    ["column-type", "alter table cases.visit alter note set data type varchar(9)"],
    ["not-null", "ALTER TABLE cases.visit ADD COLUMN seen_at timestamptz NOT NULL"],
    ["not-null", "alter table cases.visit add column a int default 0, alter column note set not null"],
    ["null-allowed", "alter table cases.visit alter column note drop not null"],
    ["default-taken", "alter table cases.visit alter column note drop default"],
    ["default-taken", "alter table cases.visit alter column note set default 'none'"],
    ["default-taken", "alter table cases.visit add column if not exists note text, alter note set default 'none'"],
    ["constraint", "create table cases.reply (id uuid primary key, visit uuid references cases.visit (id))"],
    ["constraint", "create table cases.reply (id uuid, foreign key (id) references cases.visit (id))"],
    ["constraint", "alter table cases.visit add constraint visit_note check (note <> '') not valid"],
    ["constraint", "alter table cases.visit add unique (note)"],
    ["constraint", "alter table cases.visit add column a int references cases.note (id)"],
    ["constraint", "alter table cases.visit validate constraint visit_note"],
    ["unique-index", "create unique index visit_once on cases.visit (note)"],
    ["index", "create index visit_by_note on cases.visit (note)"],
    ["rewrite", "alter table cases.visit add column key uuid not null default gen_random_uuid()"],
    ["rewrite", "alter table cases.visit add column length int generated always as (length(note)) stored"],
    ["rewrite", "alter table cases.visit add column number bigserial"],
    ["rewrite", "alter table cases.visit add column key uuid not null default cases.some_volatile()"],
    ["rewrite", "alter table cases.visit add column key text default 'a' || cases.some_volatile ( now() )"],
    ["backfill", "update cases.visit set note = ''"],
    ["backfill", "delete from cases.visit"],
    ["trigger", "create trigger visit_guard before insert on cases.visit for each row execute function cases.refuse()"],
    ["unjudged", "do $$ begin execute 'drop table cases.visit'; end $$"],
    ["unjudged", "alter table cases.visit attach partition cases.old for values in (1)"],
    ["unjudged", "create table cases.old partition of cases.visit default"],
    ["unjudged", "lock table cases.visit"],
  ])("the rule %s rejects: %s", (rule, statement) => {
    const found = faultsOfSteps([{ name: "cases/9999", statements: [statement] }]);
    expect(found.map((fault) => fault.rule)).toEqual([rule]);
  });

  // A cluster of Citus 13.2 rejected each of these statements on distributed tables.
  test.each<[Rule, string]>([
    ["constraint-beside-others", "alter table cases.visit add column a int, add constraint a check (a > 0) not valid"],
    ["constraint-beside-others", "alter table cases.visit drop constraint visit_check, add check (note <> '')"],
    ["constraint-beside-others", "alter table earnings.earning add foreign key (a) references b, add column a int"],
    ["constraint-of-column", "alter table cases.visit add column a int check (a > 0)"],
    ["constraint-of-column", "alter table cases.visit add column a int unique"],
    ["statistics-target", "alter table cases.visit set (fillfactor = 80), alter note set statistics 9"],
    [
      "attached-table",
      `create table cases.visits (id uuid) partition by range (id);
       alter table cases.visits attach partition cases.visit default`,
    ],
  ])("the rule %s for clusters rejects: %s", (rule, statement) => {
    const found = faultsOfSteps([{ name: "cases/9999", statements: [statement] }]);
    expect(found.map((fault) => fault.rule)).toContain(rule);
  });

  test("the rule constraint-beside-others rejects ledger/0002 if its two ALTER TABLE statements are joined into one", () => {
    const ledger = steps.filter(({ name }) => name === "ledger/0002-payments-in-balance");
    const joined = ledger.map(({ name, statements: [column, constraint, ...others] }) => ({
      name,
      statements: [`${column}, ${constraint!.replace("alter table ledger.payment_booking ", "")}`, ...others],
    }));
    expect(faultsOfSteps(joined).map(({ rule }) => rule)).toContain("constraint-beside-others");
    expect(faultsOfSteps(ledger).map(({ rule }) => rule)).not.toContain("constraint-beside-others");
  });
});

function readReleased(): Released {
  return JSON.parse(readFileSync(RELEASED, "utf8")) as Released;
}

/**
 * Returns the new record of released migrations for a release that contains the migrations in `now`. Throws if a
 * recorded migration was changed or removed.
 */
function withNew(before: Released, now: readonly Step[]): Released {
  const faults = faultsOfReleased(before, now);
  if (faults.length > 0) throw new Error(`Nothing is released: ${faults.join("; ")}.`);
  return Object.fromEntries(now.map((step) => [step.name, hashOf(step)]));
}

function faultsOfReleased(released: Released, now: readonly Step[]): string[] {
  const hashes = new Map(now.map((step) => [step.name, hashOf(step)]));
  return Object.entries(released).flatMap(([name, hash]) => {
    if (!hashes.has(name)) return [`${name} was removed: restore it, because existing databases have run it`];
    return hashes.get(name) === hash ? [] : [`${name} has changed: add a migration instead`];
  });
}

function described({ step, rule, statement }: StepFault): string {
  return `${step}: ${statement.slice(0, 120)}: ${rule}: ${RULES[rule]}. Or add an exception with its reason to migration-exceptions.ts`;
}

function hashOf({ statements }: Step): string {
  return createHash("sha256").update(statements.join("\n;\n")).digest("hex");
}

function packageOf({ name }: Step): string {
  return name.slice(0, name.indexOf("/"));
}
