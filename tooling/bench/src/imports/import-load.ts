import { signingKey } from "@collections/signing";
import type { LenderKey } from "../books/books.ts";
import { answerQuestions } from "../load/child.ts";
import { type Client, closedLoop } from "../load/closed-loop.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { signedPost } from "../load/signed-request.ts";

/** A load of imports of new cases over signed HTTP. Each client waits for its answer before its next import. */
export interface ImportLoad {
  readonly serviceUrl: string;
  readonly key: LenderKey;
  readonly clients: number;
  readonly requests: number;
  readonly rowsPerRequest: number;
}

answerQuestions(async (load: ImportLoad) => {
  const url = new URL(load.serviceUrl);
  const take = signedRequests(load, url.host).values();
  const connections = await Promise.all(Array.from({ length: load.clients }, () => HttpConnection.open(url)));
  const importers = connections.map((connection): Client => async () => {
    const { status, body } = await connection.send(take.next().value!);
    const summary = status === 200 ? (JSON.parse(body) as { summary: { created: number } }).summary : undefined;
    if (summary?.created !== load.rowsPerRequest) throw new Error(`An import was answered with ${status}: ${body}`);
  });
  const result = await closedLoop(importers, { count: load.requests });
  for (const connection of connections) connection.close();
  return result;
});

function signedRequests({ key, requests, rowsPerRequest }: ImportLoad, host: string): Buffer[] {
  const signer = { apiKeyId: key.apiKeyId, key: signingKey(key.hmacSecret) };
  return Array.from({ length: requests }, (_, request) => {
    const rows = Array.from({ length: rowsPerRequest }, (_row, index) => aRow(request * rowsPerRequest + index));
    return signedPost(signer, host, "/api/v1/partner/cases", JSON.stringify({ rows }), Date.now());
  });
}

/**
 * Returns a row with the usual fields of a lender's file. Neighbouring rows have loan numbers that are far apart, as in
 * such a file.
 */
function aRow(index: number): object {
  return {
    sourceLoanNumber: `LN${String((index * 7_919) % 10_000_019).padStart(10, "0")}`,
    borrowerName: `Ravi Kumar ${index}`,
    borrowerPhone: `+9198${String(10_000_000 + index)}`,
    outstandingAmount: 25_000 + (index % 1_000) / 4,
    emiAmount: 2_500.5,
    dpd: index % 120,
    nextDueDate: "2026-12-05",
    productType: "personal_loan",
    branchCode: `B${index % 200}`,
    addresses: [{ line1: `${index} MG Road`, city: "Pune", state: "MH", postalCode: "411001" }],
  };
}
