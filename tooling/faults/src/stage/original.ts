import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { assignCases } from "./assign-cases.ts";
import { Crew } from "../processes/crew.ts";
import { importRow } from "../traffic/import-traffic.ts";
import { OwnPostgres } from "../processes/own-postgres.ts";
import { ownFolder } from "../processes/run-folder.ts";
import { operator, type Settings, startMigration } from "../processes/service-process.ts";

/**
 * A stopped PostgreSQL data folder that contains a lender, loans and a field partner. Each part of a run starts with a
 * copy of it.
 */
export interface Original {
  readonly dataDir: string;
  readonly lender: { readonly apiKeyId: string; readonly hmacSecret: string };
  readonly accessToken: string;
  /** Loans that receive payments without a link. */
  readonly loans: readonly string[];
  /** Loans that a payment without a link mostly clears. */
  readonly smallLoans: readonly string[];
}

export const LENDER = "ACME";
export const MINT_AUTH = { name: "X-Lender-Auth", value: "only of this run" };
const LOANS = 100;
/** The number of cases that the field partner visits. Each case may have ten links a day. */
const DOORS = 100;
/**
 * The outstanding amount of each loan. It is more than the fault "soak" pays on a loan in an hour, so that no loan is
 * paid off: a loan that is paid off accepts no more links.
 */
const PLACED = 10_000_000;
/** Loans that a payment without a link mostly clears, so that a reversal reopens their case. */
const SMALL_LOANS = 100;
const PLACED_SMALL = 100;

let original: Promise<Original> | undefined;

/**
 * Returns a PostgreSQL data folder with one lender, imported loans, and one field partner who holds some of the cases.
 * A second field partner holds the small loans. The folder is filled once per process.
 */
export function originalBooks(settings: Settings): Promise<Original> {
  original ??= fillBooks(settings);
  return original;
}

/** Copies a PostgreSQL data folder to a folder that does not exist yet, for a server on another port. */
export async function copyCluster(from: string, to: string): Promise<void> {
  const copying = spawn("cp", ["-a", from, to], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(copying, "close")) as [number | null];
  if (code !== 0) throw new Error(`Copying ${from} failed with exit code ${code}.`);
  for (const file of ["postmaster.pid", "postmaster.opts", "embedded-port"]) rmSync(join(to, file), { force: true });
}

async function fillBooks(given: Settings): Promise<Original> {
  const folder = ownFolder();
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const postgres = await OwnPostgres.start({ dataDir: join(folder, "data") });
  const settings = { ...given, DATABASE_URL: postgres.url, FAULTS_RUN: folder };
  const { code, stderr } = await startMigration(settings).done;
  if (code !== 0) throw new Error(`The migration failed with exit code ${code}: ${stderr}`);
  const servers = new Crew({ ...settings, ROLE: "server" }, { logFile: join(folder, "servers.log") });
  const [person, other, twin] = await Promise.all([
    registerFieldPartner(settings, "+919820000001"),
    registerFieldPartner(settings, "+919820000002"),
    startLenderTwin(),
    servers.start([{}]),
  ]);
  const lender = await registerLender(settings, twin);
  twin.connect({ serviceUrl: servers.urls[0]!, ...lender });
  const { loans, smallLoans } = await importBooks(settings, twin, { doors: person.id, smallLoans: other.id });
  await Promise.all([twin.close(), servers.killAll()]);
  await postgres.bringDown("SIGINT");
  const dataDir = join(folder, "original");
  await copyCluster(postgres.dataDir, dataDir);
  await postgres.stop();
  return { dataDir, lender, accessToken: person.accessToken, loans, smallLoans };
}

/** Registers the lender. Each stage sets the lender's addresses later. */
async function registerLender(settings: Settings, twin: LenderTwin): Promise<Original["lender"]> {
  const { apiKeyId, hmacSecret } = await operator(
    settings,
    "lender",
    "create",
    `--code=${LENDER}`,
    "--name=Acme Finance",
    "--currency=INR",
    "--commission-percent=2.5",
    `--callback-url=${twin.callbackUrl}`,
    `--mint-link-url=${twin.mintUrl}`,
    `--mint-auth-header=${MINT_AUTH.name}: ${MINT_AUTH.value}`,
  );
  return { apiKeyId: String(apiKeyId), hmacSecret: String(hmacSecret) };
}

async function registerFieldPartner(settings: Settings, phone: string): Promise<{ id: string; accessToken: string }> {
  const person = await operator(settings, "field-partner", "create", "--name=Asha Rao", `--phone=${phone}`);
  const id = String(person["fieldPartnerId"]);
  const { accessToken } = await operator(settings, "field-partner", "token", id);
  return { id, accessToken: String(accessToken) };
}

/** Imports the loans and assigns cases. */
async function importBooks(
  settings: Settings,
  twin: LenderTwin,
  holders: { readonly doors: string; readonly smallLoans: string },
): Promise<Pick<Original, "loans" | "smallLoans">> {
  const loans = Array.from({ length: LOANS }, (_, index) => `LN/${index}`);
  const doors = Array.from({ length: DOORS }, (_, index) => `DOOR/${index}`);
  const smallLoans = Array.from({ length: SMALL_LOANS }, (_, index) => `SMALL/${index}`);
  const rows = [
    ...[...loans, ...doors].map((loan) => importRow(loan, PLACED)),
    ...smallLoans.map((loan) => importRow(loan, PLACED_SMALL)),
  ];
  const { status, rawBody } = await twin.importCases(rows, { atomic: true });
  if (status !== 200) throw new Error(`The import of the loans failed: ${rawBody}`);
  await assignCases(settings, LENDER, [
    { loans: doors, holder: holders.doors },
    { loans: smallLoans, holder: holders.smallLoans },
  ]);
  return { loans, smallLoans };
}
