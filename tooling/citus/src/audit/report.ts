import type { Statement } from "@collections/database";
import { Client } from "pg";
import { type Outcome, runEach } from "./audit.ts";
import { type Catalog, type Placement, readCatalog } from "../lint/catalog.ts";
import { hotStatements } from "../registry/hot-statements.ts";
import { lint, placementsOf, type Violation } from "../lint/lint.ts";
import { sentOnCluster } from "./not-sent.ts";
import type { Registry } from "../registry/registry.ts";
import { rules } from "../lint/rules.ts";
import { writeSampleRows } from "./sample-rows.ts";
import { hashOf, NOT_SENT_VERDICT, STOPPED, type Verdict, verdictOf } from "./verdicts.ts";

/** The audit's result for one statement. */
export interface Finding extends Outcome, Verdict {
  /**
   * The parts of the service that send this statement for every request or event (the hot paths); empty for other
   * statements.
   */
  readonly hotPaths: readonly string[];
  readonly violations: readonly Violation[];
}

/** The audit's result. */
export interface Report {
  readonly citus: string;
  readonly nodes: number;
  readonly shards: number;
  readonly findings: readonly Finding[];
  readonly notSent: readonly { readonly name: string; readonly reason: string }[];
  /** Names in `hotStatements` that no registered statement has. */
  readonly unknownHot: readonly string[];
  /** Tables in which no made-up row could be written. */
  readonly emptyTables: readonly string[];
}

/** Sends every statement once to a scratch database with made-up rows. */
export async function audit(url: string, { statements, schemas }: Registry): Promise<Report> {
  const { sent, notSent } = sentOnCluster(statements);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const catalog = await readCatalog(client, schemas);
    const emptyTables = await writeSampleRows(
      client,
      schemas.map(({ name }) => name),
    );
    const cluster = await clusterOf(client);
    const violations = await lint(sent, catalog);
    const outcomes = await runEach(url, sent);
    const findings = outcomes.map((outcome, index) =>
      findingOf(outcome, sent[index]!, catalog, cluster.shards, violations),
    );
    const names = new Set(statements.map(({ name }) => name));
    return {
      ...cluster,
      findings,
      notSent: [...notSent].map(([name, reason]) => ({ name, reason })),
      unknownHot: hotStatements.flatMap(({ names: hot }) => hot).filter((name) => !names.has(name)),
      emptyTables,
    };
  } finally {
    await client.end();
  }
}

/** The verdicts to record: one for each registered statement. */
export function verdictsOf({ findings }: Report, { statements }: Registry): Verdict[] {
  const judged = new Map(findings.map(({ name, verdict }) => [name, verdict]));
  return statements.map(({ name, text }) => ({
    name,
    hash: hashOf(text),
    verdict: judged.get(name) ?? NOT_SENT_VERDICT,
  }));
}

/**
 * Returns whether a statement fails the audit. It fails if the cluster refuses it. A statement on a hot path also fails
 * if it needs more than one command or a COPY, or if the audit could not run it.
 */
export function isFault({ isRefused, hotPaths, verdict, commands, copies, isPulled }: Finding): boolean {
  return isRefused || (hotPaths.length > 0 && (commands > 1 || copies > 0 || isPulled || verdict === STOPPED));
}

/** The report as text. */
export function reportText(report: Report): string {
  const { findings, notSent, unknownHot, emptyTables, citus, nodes, shards } = report;
  const refused = findings.filter(({ isRefused }) => isRefused);
  const hot = findings.filter((finding) => !finding.isRefused && isFault(finding));
  const others = findings.filter((finding) => !isFault(finding));
  const copied = others.filter(({ copies, isPulled }) => copies > 0 || isPulled);
  const fannedOut = others.filter((finding) => finding.nodes > 1 && !copied.includes(finding));
  const stopped = others.filter(({ failure }) => failure);
  return [
    `Citus ${citus}, ${nodes} nodes, ${shards} shards: ${findings.length} statements sent.`,
    section("Refused", refused.map(refusalLine)),
    section(
      "On a hot path, and not proven to be one command",
      hot.map((finding) => `${lineOf(finding)}; ${finding.hotPaths.join(", ")}`),
    ),
    section("By COPY", copied.map(lineOf)),
    section("On more than one node", fannedOut.map(lineOf)),
    section(
      "Accepted, but stopped by a made-up value",
      stopped.map((one) => `${one.name}: ${failureText(one)}`),
    ),
    section(
      "Not sent on a cluster",
      notSent.map(({ name, reason }) => `${name}: ${reason}`),
    ),
    section("In the list of hot statements, but not registered", unknownHot),
    section("Tables without a made-up row", emptyTables),
  ]
    .filter((text) => text !== "")
    .join("\n\n");
}

function findingOf(
  outcome: Outcome,
  { name, text }: Statement,
  catalog: Catalog,
  shards: number,
  violations: readonly Violation[],
): Finding {
  const placements: ReadonlySet<Placement> = placementsOf(text, catalog);
  return {
    ...outcome,
    hash: hashOf(text),
    verdict: verdictOf(outcome, placements, shards),
    hotPaths: hotStatements.filter(({ names }) => names.includes(name)).map(({ path }) => path),
    violations: violations.filter((violation) => violation.name === name),
  };
}

async function clusterOf(client: Client): Promise<{ citus: string; nodes: number; shards: number }> {
  const { rows } = await client.query<{ citus: string; nodes: number; shards: number }>(
    `select (select extversion from pg_extension where extname = 'citus') as citus,
       (select count(*)::int from pg_dist_node where isactive) as nodes,
       (select max(shard_count) from citus_tables where citus_table_type = 'distributed') as shards`,
  );
  return rows[0]!;
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : `${title} (${lines.length}):\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

function lineOf({ name, verdict, commands, copies }: Finding): string {
  return `${name}: ${verdict} (${commands} commands${copies > 0 ? `, ${copies} of them COPY` : ""})`;
}

function refusalLine(finding: Finding): string {
  const explained = finding.violations.map(({ rule }) => `\n    ${rule}: ${rules[rule].remedy}`);
  return `${finding.name}: ${failureText(finding)}${explained.join("")}`;
}

function failureText({ failure }: Finding): string {
  return failure ? `${failure.sqlState} ${failure.message}` : "";
}
