import { spawn, spawnSync, type ChildProcess, type StdioOptions } from "node:child_process";
import { chownSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { binary, type MajorVersion, nativeFolder, type Program } from "./binaries.ts";
import { PostgresError } from "./postgres-error.ts";

const NOBODY = 65534;

/**
 * The user that runs PostgreSQL's programs. PostgreSQL refuses to run as root. So if this process runs as root, another
 * uid is used: the owner of an existing data directory, else "nobody". Other users run PostgreSQL as themselves.
 */
export interface Account {
  /**
   * If this process runs as root: the user and group that own the server's files and run its programs. Otherwise empty.
   */
  owner: { uid?: number; gid?: number };
  /** The major version of PostgreSQL's programs. */
  version: MajorVersion;
  /** A command line to put before the program's own; empty if none is needed. */
  prefix: string[];
}

/**
 * Returns the user that runs PostgreSQL on a data directory. The path must be absolute; the directory need not exist
 * yet. Errors: `unreachable_for_unprivileged_user`.
 */
export function accountFor(dataDir: string, version: MajorVersion = 18): Account {
  if (process.getuid?.() !== 0) return { owner: {}, version, prefix: [] };
  const existing = statSync(dataDir, { throwIfNoEntry: false });
  const owner =
    existing && existing.uid !== 0 ? { uid: existing.uid, gid: existing.gid } : { uid: NOBODY, gid: NOBODY };
  const bootstrap = join(nativeFolder(version), "share", "postgresql", "postgres.bki");
  const reachable =
    canReach(owner.uid, dirname(dataDir)) && canReach(owner.uid, dirname(bootstrap)) && isReadable(bootstrap);
  return { owner, version, prefix: reachable ? [] : keepingFileAccess(owner.uid, owner.gid, version) };
}

/** Starts a program. The caller must watch it. */
export function spawnAs(
  account: Account,
  program: Program,
  args: string[],
  options: { stdio: StdioOptions; detached?: boolean },
): ChildProcess {
  const [command = "", ...rest] = [...account.prefix, binary(program, account.version), ...args];
  const identity = account.prefix.length === 0 ? account.owner : {};
  return spawn(command, rest, {
    ...options,
    ...identity,
    cwd: dirname(binary(program, account.version)),
    windowsHide: true,
  });
}

/** Makes the account the owner of files that this process has created. */
export function give({ owner: { uid, gid } }: Account, ...paths: string[]): void {
  if (uid !== undefined && gid !== undefined) for (const path of paths) chownSync(path, uid, gid);
}

function canReach(uid: number, folder: string): boolean {
  const { mode, uid: owner } = statSync(folder);
  const searchable = (mode & (owner === uid ? 0o100 : 0o001)) !== 0;
  return searchable && (folder === dirname(folder) || canReach(uid, dirname(folder)));
}

function isReadable(file: string): boolean {
  return (statSync(file).mode & 0o004) !== 0;
}

/**
 * Returns a command prefix with which another user can run PostgreSQL in a folder that is closed to other users, such
 * as below /root (0700). On Linux, a process can change its uid and keep root's right to enter such folders. PostgreSQL
 * calls access(2), for which the kernel would ignore that right if the secure bit `no_setuid_fixup` were not set.
 */
function keepingFileAccess(uid: number, gid: number, version: MajorVersion): string[] {
  const prefix = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--securebits=+no_setuid_fixup"];
  prefix.push("--inh-caps=-all,+dac_override", "--ambient-caps=+dac_override");
  const [command = "", ...args] = prefix;
  if (spawnSync(command, [...args, binary("postgres", version), "--version"]).status === 0) return prefix;
  throw new PostgresError(
    "unreachable_for_unprivileged_user",
    "PostgreSQL does not run as root, and another user cannot enter this folder. " +
      "Run as an ordinary user, move this project to a folder that all users may read, or set DATABASE_URL.",
  );
}
