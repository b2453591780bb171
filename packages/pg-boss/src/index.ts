import { PgBoss } from "pg-boss";

/**
 * Makes an object of pg-boss 12.35.0. Its options and methods are those of pg-boss. Their types are not named here, because
 * a host of the packed package does not install pg-boss.
 *
 * @example
 * const boss = createPgBoss({ connectionString: url, schema: "collections_jobs" });
 */
export function createPgBoss(options: object): object {
  return new PgBoss(options);
}
