/** A construct that a cluster refuses or answers wrongly. */
export interface Rule {
  readonly name: string;
  /** What the cluster does with the construct. */
  readonly problem: string;
  /** The construct to use instead. */
  readonly remedy: string;
}

/**
 * All rules of the linter. `rule-examples.ts` has a statement that breaks each rule, and an equivalent accepted one.
 */
export const rules = {
  "mutable-in-case": {
    problem:
      "Citus refuses now() and other functions that are not IMMUTABLE in CASE or COALESCE of an UPDATE or DELETE",
    remedy:
      "read the time as a column: with clock as materialized (select now() as now) update … from clock; compute intervals there too",
  },
  "stable-of-column": {
    problem:
      "Citus refuses STABLE functions of a column in SET or WHERE of an UPDATE or DELETE (timestamptz ± interval, timestamptz::text, jsonb_build_object)",
    remedy:
      "move the function to the side without the column (at < now() - interval …), or compute it in a CTE that is MATERIALIZED",
  },
  "simple-case-in-change": {
    problem:
      "Citus rewrites CASE x WHEN … incorrectly when it sends an INSERT, UPDATE or DELETE to a node: operator does not exist (42883)",
    remedy: "write case when x = … then",
  },
  "volatile-in-change": {
    problem: "Citus refuses VOLATILE functions (random(), clock_timestamp()) in SET or WHERE of an UPDATE or DELETE",
    remedy: "compute the value in the application and pass it as a parameter",
  },
  "mutable-in-returning": {
    problem: "Citus refuses functions that are not IMMUTABLE in RETURNING",
    remedy: "put the change into a CTE that returns plain columns, and compute the expressions in the outer SELECT",
  },
  "mutable-in-conflict": {
    problem: "Citus refuses functions that are not IMMUTABLE in ON CONFLICT DO UPDATE (now(), timestamptz ± interval)",
    remedy: "compute the value in the inserted row, and read it from excluded",
  },
  "subselect-in-values": {
    problem: "Citus refuses sub-selects in the VALUES of an INSERT",
    remedy: "write insert … select … from a table of the same lender",
  },
  "insert-by-copy": {
    problem:
      "INSERT … SELECT is executed by COPY unless lender_id is a column of a lenders' table: it needs several commands, and a unique violation is reported as XX000 instead of 23505",
    remedy:
      "write VALUES ($1, unnest($2::uuid[]), …), or select lender_id from a lenders' table, such as webhooks.endpoint where lender_id = $1",
  },
  "recursive-of-many-lenders": {
    problem:
      "Citus refuses WITH RECURSIVE unless every lenders' table has the condition lender_id = $n and no CTE inserts",
    remedy: "restrict every table to the lender, or use SELECT DISTINCT, or iterate in the application",
  },
  "lock-of-many-lenders": {
    problem: "Citus refuses FOR UPDATE and FOR SHARE unless the query is restricted to one lender",
    remedy: "add lender_id = $n, and lock the rows of each lender in a separate statement",
  },
  "lock-of-reference": {
    problem: "FOR UPDATE of a reference table locks a copy on every node, and deadlocks with a write of the same table",
    remedy: "take an advisory lock: select pg_advisory_xact_lock(…)",
  },
  "join-without-lender": {
    problem: "Citus refuses lenders' tables that are joined without lender_id = lender_id",
    remedy: "add the equality of lender_id to the join, or to the condition of the sub-select",
  },
  "lateral-of-all-rows": {
    problem:
      "Citus refuses LIMIT, OFFSET, DISTINCT, UNION and aggregates in a lateral sub-select that is joined to a function, a CTE or a reference table",
    remedy:
      "join the table by lender_id and rank with row_number() partitioned by lender_id, or restrict the lateral to the lender",
  },
  "lateral-left-join": {
    problem: "Citus refuses LEFT JOIN LATERAL that depends on a function, a CTE or a VALUES list",
    remedy: "use a plain LEFT JOIN, or use JOIN and add the missing rows in the application",
  },
  "correlated-beside-reference": {
    problem:
      "Citus refuses a correlated sub-select of a lenders' table if FROM holds only reference tables, functions or CTEs",
    remedy: "write = any (array(select …)), or join the lenders' table",
  },
  "correlated-with-local": {
    problem: "Citus refuses a sub-select that relates a lenders' table to a table of the coordinator",
    remedy: "read each side in a CTE that is MATERIALIZED, and join the CTEs",
  },
  "empty-select-list": {
    problem:
      "a sub-select with an empty list (exists (select from …)) fails with a syntax error if it is executed separately",
    remedy: "write select 1",
  },
} as const satisfies Record<string, Omit<Rule, "name">>;

/** The name of a rule. */
export type RuleName = keyof typeof rules;
