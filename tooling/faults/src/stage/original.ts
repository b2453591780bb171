import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { type LenderTwin, startLenderTwin } from "@collections/lender-twin";
import { Crew } from "../processes/crew.ts";
import { importRow } from "../traffic/import-traffic.ts";
import { OwnPostgres } from "../processes/own-postgres.ts";
import { ownFolder } from "../processes/run-folder.ts";
import { operator, type Settings, startMigration } from "../processes/service-process.ts";

/** A cluster at rest whose books are filled: each stage begins with a copy of it. */
export interface Original {
  readonly dataDir: string;
  readonly lender: { readonly apiKeyId: string; readonly hmacSecret: string };
  readonly accessToken: string;
  /** Loans that payments without a link go to. */
  readonly loans: readonly string[];
}

export const LENDER = "ACME";
export const MINT_AUTH = { name: "X-Lender-Auth", value: "only of this run" };
const LOANS = 100;
/** Each may have ten links a day. */
const DOORS = 100;
/** More than the hour of a soak pays of a loan: one that is paid off takes no more links. */
const PLACED = 10_000_000;

let original: Promise<Original> | undefined;

/** One lender, whose loans are imported, and one field partner, who holds some of them; made once by this process. */
export function originalBooks(settings: Settings): Promise<Original> {
  original ??= fillBooks(settings);
  return original;
}

/** Copies the original to a folder that does not exist yet, for a server that listens elsewhere. */
export async function copyCluster(from: string, to: string): Promise<void> {
  const copying = spawn("cp", ["-a", from, to], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(copying, "close")) as [number | null];
  if (code !== 0) throw new Error(`The copy of ${from} ended with ${code}.`);
  for (const file of ["postmaster.pid", "postmaster.opts", "embedded-port"]) rmSync(join(to, file), { force: true });
}

async function fillBooks(given: Settings): Promise<Original> {
  const folder = ownFolder();
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const postgres = await OwnPostgres.start({ dataDir: join(folder, "data") });
  const settings = { ...given, DATABASE_URL: postgres.url, FAULTS_RUN: folder };
  const { code, stderr } = await startMigration(settings).done;
  if (code !== 0) throw new Error(`The migration ended with ${code}: ${stderr}`);
  const servers = new Crew({ ...settings, ROLE: "server" }, { logFile: join(folder, "servers.log") });
  const [person, twin] = await Promise.all([registerFieldPartner(settings), startLenderTwin(), servers.start([{}])]);
  const lender = await registerLender(settings, twin);
  twin.connect({ serviceUrl: servers.urls[0]!, ...lender });
  const loans = await importBooks(settings, postgres, twin, person.id);
  await Promise.all([twin.close(), servers.killAll()]);
  await postgres.bringDown("SIGINT");
  const dataDir = join(folder, "original");
  await copyCluster(postgres.dataDir, dataDir);
  await postgres.stop();
  return { dataDir, lender, accessToken: person.accessToken, loans };
}

/** Where the lender is, each stage says for itself. */
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

async function registerFieldPartner(settings: Settings): Promise<{ id: string; accessToken: string }> {
  const person = await operator(settings, "field-partner", "create", "--name=Asha Rao", "--phone=+919820000001");
  const id = String(person["fieldPartnerId"]);
  const { accessToken } = await operator(settings, "field-partner", "token", id);
  return { id, accessToken: String(accessToken) };
}

/** Operators assign one case at a time, so only the first goes their way; the others are given by SQL. */
async function importBooks(
  settings: Settings,
  postgres: OwnPostgres,
  twin: LenderTwin,
  fieldPartnerId: string,
): Promise<string[]> {
  const loans = Array.from({ length: LOANS }, (_, index) => `LN/${index}`);
  const doors = Array.from({ length: DOORS }, (_, index) => `DOOR/${index}`);
  const rows = [...loans, ...doors].map((loan) => importRow(loan, PLACED));
  const { status, rawBody } = await twin.importCases(rows, { atomic: true });
  if (status !== 200) throw new Error(`The loans were not imported: ${rawBody}`);
  await operator(settings, "case", "assign", LENDER, doors[0]!, fieldPartnerId);
  await postgres.pool.query(
    `update cases.collection_case set status = 'assigned',
       assigned_field_partner_id = (select id from field_partners.field_partner)
     where source_loan_number like 'DOOR/%' and assigned_field_partner_id is null`,
  );
  return loans;
}
