export { PostgresError, type PostgresErrorCode } from "./postgres-error.ts";
export { hasPooler, startPooler, type Pooler, type PoolerOptions, type PoolerTls } from "./start-pooler.ts";
export { type CertificateFiles, type PrivateCa, privateCa } from "./private-ca.ts";
export { startPostgres, type Postgres, type StartOptions } from "./start-postgres.ts";
export { temporaryDataDir } from "./temporary-data-dir.ts";
