import type { EntityManager } from "@mikro-orm/postgresql";
import type { Pool } from "pg";
import type { PgBoss } from "pg-boss";
import type { NodeWatch } from "./node-watch.ts";
import type { Jobs } from "../queue.ts";
import type { Signals } from "./signals.ts";

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
  /** Knows which nodes of a cluster answer; undefined where the process has not said how to read the ids of lenders. */
  readonly nodes: NodeWatch | undefined;
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
