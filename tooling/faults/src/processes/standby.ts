import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync, chownSync, statSync } from "node:fs";
import { join } from "node:path";
import { until } from "../deadline.ts";
import { OwnPostgres } from "./own-postgres.ts";

const NAME = "faults_standby";
const IN_STEP_WITHIN_MS = 60_000;

/**
 * Adds a synchronous standby: from now on only commits that are on the standby's disk are acknowledged. Copies the data
 * folder while the primary runs, as `pg_basebackup` does. The npm packages of PostgreSQL do not contain
 * `pg_basebackup`.
 */
export async function addStandby(primary: OwnPostgres, dataDir: string): Promise<OwnPostgres> {
  await copyRunning(primary, dataDir);
  const { hostname, port, username, password } = new URL(primary.url);
  const conninfo = `host=${hostname} port=${port} user=${username} password=${password} application_name=${NAME}`;
  const standby = await OwnPostgres.start({ dataDir, settings: { primary_conninfo: conninfo } });
  await primary.pool.query(`alter system set synchronous_standby_names = '${NAME}'`);
  await primary.pool.query("select pg_reload_conf()");
  await until("the standby is synchronous", IN_STEP_WITHIN_MS, async () => {
    const { rows } = await primary.pool.query<{ state: string }>(
      "select sync_state as state from pg_stat_replication where application_name = $1",
      [NAME],
    );
    return rows.some(({ state }) => state === "sync");
  });
  return standby;
}

/** Makes the standby the primary; resolves when it accepts writes. The new primary has no standby of its own. */
export async function promote(standby: OwnPostgres): Promise<void> {
  await standby.pool.query("select pg_promote(true, 60)");
  await until("the standby accepts writes", IN_STEP_WITHIN_MS, async () => {
    const { rows } = await standby.pool.query<{ waits: boolean }>("select pg_is_in_recovery() as waits");
    return rows[0]?.waits === false;
  });
}

async function copyRunning(primary: OwnPostgres, dataDir: string): Promise<void> {
  const session = await primary.connect();
  await session.query("select pg_backup_start('faults', true)");
  const { status, stderr } = spawnSync("cp", ["-a", primary.dataDir, dataDir], { encoding: "utf8" });
  const complaints = stderr.split("\n").filter((line) => line !== "" && !/No such file or directory/.test(line));
  // Files that disappear during the copy are restored from the write-ahead log.
  if (status === null || complaints.length > 0) throw new Error(`Copying the data folder failed: ${stderr}`);
  const { rows } = await session.query<{ label: string }>("select labelfile as label from pg_backup_stop(false)");
  await session.end();
  for (const file of ["postmaster.pid", "postmaster.opts", "embedded-port"]) {
    rmSync(join(dataDir, file), { force: true });
  }
  give(dataDir, { backup_label: rows[0]!.label, "standby.signal": "", "postgresql.auto.conf": "" });
}

function give(dataDir: string, files: Record<string, string>): void {
  const { uid, gid } = statSync(dataDir);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(dataDir, name), content, { mode: 0o600 });
    chownSync(join(dataDir, name), uid, gid);
  }
}
