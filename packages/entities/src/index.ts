export type { EntityManager } from "@mikro-orm/postgresql";
export { createDatabase, type Database, type DatabaseOptions, type Tx } from "./database.ts";
export { UnknownEntityError } from "./entity-managers.ts";
export { tableOf } from "./table-of.ts";
