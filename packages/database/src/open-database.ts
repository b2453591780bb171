import type { EntityManager } from "@mikro-orm/postgresql";
import type { Pool } from "pg";
import type { PgBoss } from "pg-boss";
import type { Jobs } from "./jobs.ts";
import type { Reachable } from "./reachable-lenders.ts";
import type { Signals } from "./signals.ts";
import type { Statement } from "./statement.ts";

/** One process's way to PostgreSQL. */
export interface Database {
  /** A fresh EntityManager: one per request or job, never shared. */
  em(): EntityManager;
  readonly pool: Pool;
  readonly jobs: Jobs;
  readonly signals: Signals;
  close(): Promise<void>;
}

/** A database as this package sees it. */
export interface OpenDatabase extends Database {
  /** Whether its sessions are others' too, by a transaction pooler or a host's pool: nothing may be kept in them. */
  readonly sharesSessions: boolean;
  /** Whether the pool is a host's, whose clients need not pipeline. */
  readonly isBorrowed: boolean;
  /** Whether tables are kept on several nodes; undefined until `isDistributed` has asked. */
  distributed: boolean | undefined;
  /** Selects the ids of all lenders, where the process has said how. */
  readonly lenderIds: Statement | undefined;
  /** Whose rows can be read while a node of a cluster is away; undefined while none is known to be. */
  reachable: Reachable | undefined;
  boss(): Promise<PgBoss>;
  onError(error: unknown): void;
}

const databases = new WeakMap<object, OpenDatabase>();

/** Remembers which database made an EntityManager: a verb is handed nothing but that. */
export function rememberDatabase(em: EntityManager, database: OpenDatabase): void {
  databases.set(em.getDriver(), database);
}

export function databaseOf(em: EntityManager): OpenDatabase {
  const database = databases.get(em.getDriver());
  if (!database) throw new Error("This EntityManager was not made by createDatabase().");
  return database;
}
