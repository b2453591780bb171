import { setTimeout as delay } from "node:timers/promises";
import { isPlainText, migrate, transaction } from "@collections/database";
import { checkMasterKey } from "@collections/lenders";
import { createSignInLink, OPERATOR_ROLES } from "@collections/operators";
import type { App } from "./app.ts";
import { checkAnchorFile } from "./anchors/file.ts";
import { createApp } from "./start/create-app.ts";
import { explain } from "./cli/terminal/refusal.ts";
import { tell } from "./cli/terminal/terminal.ts";
import { readConfig } from "./settings/config.ts";
import { consoleUrl, signInUrl } from "./settings/console-url.ts";
import { keepExtraCertificates } from "./start/extra-certificates.ts";
import { type HttpServer, startHttpServer } from "./start/http-server.ts";
import { essentials } from "./settings/local-data.ts";
import { createLog } from "./settings/log.ts";
import { checkGivenMasterKey, givenMasterKeyCheck, masterKeyCheck } from "./settings/master-key.ts";
import { startMetricsServer } from "./metrics/metrics-server.ts";
import { jobsSchema, schemas } from "./schemas.ts";
import { RELEASE } from "./settings/release.ts";
import { migrateMarked } from "./settings/unmarked-poolers.ts";
import { recordKeyUses, recordRequests, startWorker } from "./worker/worker.ts";

/** The part of `SHUTDOWN_TIMEOUT` in which requests and jobs may end. The rest is for closing connections. */
const GRACE = 0.8;

await main().catch((error: unknown) => {
  const { detail, exitCode } = explain(error);
  tell(detail);
  // Exit explicitly, because sockets that were opened before the error would keep the process alive.
  process.exit(exitCode);
});

/**
 * Starts the half of the service that `ROLE` names, or both halves if `ROLE` is `all`. With the argument `migrate`,
 * only migrates the database.
 */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog(config.logLevel, { role: config.role });
  if (RELEASE) log.info({ version: RELEASE.version, commit: RELEASE.commit }, "this process runs a release");
  const onlyMigrates = process.argv[2] === "migrate";
  const { ledgerAnchor, role } = config;
  if (ledgerAnchor?.kind === "file" && role !== "server" && !onlyMigrates) await checkAnchorFile(ledgerAnchor.path);
  const given = await essentials(config, (message) => log.info(message));
  const migration = { schemas, jobs: true, jobsSchema, onWait: (message: string) => log.warn(message) };
  const { applied, unknown } = onlyMigrates
    ? await migrate({
        url: given.databaseMigrationUrl,
        runtimeUrl: given.databaseUrl,
        ...migration,
        ...givenMasterKeyCheck(config, given),
      })
    : await migrateMarked(given, { ...migration, ...masterKeyCheck(config, given) });
  if (unknown.length > 0)
    log.warn({ unknown }, "the database has migrations of a later version: its schema is left as it is");
  log.info({ applied }, "database is up to date");
  if (onlyMigrates) {
    await checkGivenMasterKey(config, given);
    return given.release();
  }

  keepExtraCertificates(process.env["NODE_EXTRA_CA_CERTS"], log);
  const app = await createApp(config, given, log);
  await checkMasterKey(app.database.em(), app.vault);
  const server = await startHttpServer(app);
  const metricsServer = config.metricsAddress && (await startMetricsServer(app.metrics, config.metricsAddress, log));
  if (metricsServer) log.info({ url: metricsServer.url }, "metrics are served");
  else if (!config.isSandbox)
    log.warn("everybody who can reach PORT can read /metrics: set METRICS_PORT to serve /metrics on a separate port");
  if (!config.isSandbox && [given.databaseUrl, given.databaseDirectUrl].some(isPlainText))
    log.warn("PostgreSQL is reached over the network in plain text: add sslmode=verify-full to its URLs");
  app.database.signals.listen();
  const keyUses = recordKeyUses(app);
  const requests = recordRequests(app);
  const worker = config.role === "server" ? undefined : await startWorker(app);

  const hurry = new AbortController();
  let signals = 0;
  async function stop(signal: string): Promise<void> {
    signals += 1;
    // A second signal ends the delay.
    if (signals > 1) return hurry.abort();
    server.drain();
    if (config.shutdownDelayMs > 0) {
      log.info(
        { signal, delayMs: config.shutdownDelayMs },
        "not ready any more; still working until load balancers know it",
      );
      await delay(config.shutdownDelayMs, undefined, { signal: hurry.signal }).catch(() => {});
    }
    log.info({ signal }, "stopping: finishing requests and jobs");
    setTimeout(() => {
      log.error("the process did not stop in time and is ended now");
      process.exit(1);
    }, config.shutdownTimeoutMs).unref();
    const graceMs = config.shutdownTimeoutMs * GRACE;
    await Promise.all([server.stop(graceMs), worker?.stop(graceMs), keyUses.stop()]);
    await requests.stop();
    await metricsServer?.stop();
    await app.close();
    await given.release();
    log.info("stopped");
  }
  process.on("SIGTERM", (signal) => void stop(signal));
  process.on("SIGINT", (signal) => void stop(signal));
  announce(server, config.role);
  if (config.isSandbox && config.role !== "worker") {
    log.info({ app: `${server.url}/app` }, "the field partner's app is served; sign-in codes appear in this log");
    if (config.hasConsole) await logSignInLink(app, server.url);
  }
}

/** Writes a link to the log with which one operator can sign in to the console of a sandbox, with all roles. */
async function logSignInLink({ config, database, log }: App, url: string): Promise<void> {
  const given = { name: "Sandbox", roles: OPERATOR_ROLES };
  try {
    const { token, expiresAt } = await transaction(database.em(), (tx) => createSignInLink(tx, given, new Date()));
    const console = signInUrl(consoleUrl(config, url), token);
    log.info({ console, expiresAt }, "the operators' console is served; the link signs in once, within five minutes");
  } catch (error) {
    log.warn({ error }, "no sign-in link was created; create one with: collections operator link");
  }
}

/** Prints the only line on stdout, for people and for scripts that wait for it. */
function announce(server: HttpServer, role: string): void {
  process.stdout.write(`Partner Collections (${role}) is ready at ${server.url}\n`);
}
