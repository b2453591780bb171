import { signingKey } from "@collections/signing";
import { Client } from "pg";
import { ASSIGN_EVERY_CASE } from "./assign-every-case.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { CURRENCY, loanNumber, type Loans, loansOf, OUTSTANDING } from "../load/payment.ts";
import { operator, startService } from "../server/service.ts";
import { signedPost } from "../load/signed-request.ts";

/** A lender's first API key. */
export interface LenderKey {
  readonly lenderCode: string;
  readonly apiKeyId: string;
  readonly hmacSecret: string;
}

/** Lenders to register, with their loans. */
export interface Group {
  readonly loans: Loans;
  /** Further options of the operators' command that registers a lender. */
  readonly options: readonly string[];
}

/** Lenders whose loans are assigned to one field partner. */
export interface Books {
  readonly keys: readonly LenderKey[];
  /** The lenders' ids by their codes. */
  readonly lenderIds: Readonly<Record<string, string>>;
  /** The id of the field partner who holds the cases: `fp_…`. */
  readonly fieldPartnerId: string;
}

const IMPORT_PATH = "/api/v1/partner/cases";
const ROWS_AT_A_TIME = 1_000;

/**
 * Fills an empty database through the public interfaces: operators register lenders and a field partner, lenders import
 * loans. An operator assigns the first case of each lender, which opens the field partner's accounts. SQL assigns the other
 * cases to the same field partner, because the command needs minutes for a million of them.
 */
export async function fillBooks(databaseUrl: string, groups: readonly Group[]): Promise<Books> {
  const service = await startService({ databaseUrl, role: "server" });
  const url = new URL(service.url);
  const person = await operator(databaseUrl, "field-partner", "create", "--name=Asha Rao", "--phone=+919800000001");
  const keys: LenderKey[] = [];
  for (const { loans, options } of groups) {
    for (const lenderCode of loans.lenderCodes) {
      const key = await createLender(databaseUrl, lenderCode, options);
      await importLoans(url, key, loans);
      const firstLoan = loanNumber(lenderCode, 0);
      await operator(databaseUrl, "case", "assign", lenderCode, firstLoan, String(person["fieldPartnerId"]));
      keys.push(key);
    }
  }
  await service.stop();
  return { keys, lenderIds: await assignOthers(databaseUrl), fieldPartnerId: String(person["fieldPartnerId"]) };
}

/** Registers a lender by the operators' command, which also migrates the database. */
export async function createLender(
  databaseUrl: string,
  lenderCode: string,
  options: readonly string[],
): Promise<LenderKey> {
  const answer = await operator(
    databaseUrl,
    "lender",
    "create",
    `--code=${lenderCode}`,
    `--name=Lender ${lenderCode}`,
    `--currency=${CURRENCY}`,
    ...options,
  );
  return { lenderCode, apiKeyId: String(answer["apiKeyId"]), hmacSecret: String(answer["hmacSecret"]) };
}

export async function importLoans(url: URL, key: LenderKey, loans: Loans): Promise<void> {
  // Open the connection only here: an operator's command can take a while, and the service closes idle connections.
  const connection = await HttpConnection.open(url);
  const signer = { apiKeyId: key.apiKeyId, key: signingKey(key.hmacSecret) };
  const rows = loansOf({ ...loans, lenderCodes: [key.lenderCode] }).map(({ number }) => ({
    sourceLoanNumber: number,
    borrowerName: "Ravi Kumar",
    borrowerPhone: "+919800000002",
    outstandingAmount: OUTSTANDING,
  }));
  for (let first = 0; first < rows.length; first += ROWS_AT_A_TIME) {
    const body = JSON.stringify({ rows: rows.slice(first, first + ROWS_AT_A_TIME), atomic: true });
    const { status, body: answer } = await connection.send(signedPost(signer, url.host, IMPORT_PATH, body, Date.now()));
    if (status !== 200) throw new Error(`An import was answered with ${status}: ${answer}`);
  }
  connection.close();
}

async function assignOthers(databaseUrl: string): Promise<Record<string, string>> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(ASSIGN_EVERY_CASE, [false]);
  await client.query("vacuum analyze cases.collection_case");
  const { rows } = await client.query<{ code: string; id: string }>("select code, id from lenders.lender");
  await client.end();
  return Object.fromEntries(rows.map(({ code, id }) => [code, id]));
}
