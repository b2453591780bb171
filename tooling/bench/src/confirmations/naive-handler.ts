import { HEADERS, signingKey, verify } from "@collections/signing";
import express, { type Request, type Response } from "express";
import type { AddressInfo } from "node:net";
import { Pool } from "pg";
import type { LenderKey } from "../books/books.ts";
import { answerQuestions } from "../load/child.ts";
import { type Lender, NaiveBooks, type Payment } from "./naive-books.ts";

/** The database of the handler, and the API keys of the lenders whose requests it accepts. */
export interface NaiveHandler {
  readonly databaseUrl: string;
  readonly keys: readonly LenderKey[];
  readonly lenderIds: Readonly<Record<string, string>>;
}

/** The number of database connections with which the handler is fastest. 8, 16 and 32 were tried. */
const CONNECTIONS = 16;
const BODY_LIMIT = "16kb";
const TIMESTAMP_TOLERANCE_MS = 300_000;
const PATH = "/api/v1/partner/cases/:loan/payments/confirm";

/**
 * Confirms payments in the usual way: the handler that a good engineer would write in a day. The service is compared
 * with it. It consists of Express, signature verification, and a transaction of awaited queries that locks the loan,
 * books a reference once and writes the event. The API keys are in memory, which favours this handler.
 */
answerQuestions(async ({ databaseUrl, keys, lenderIds }: NaiveHandler) => {
  const lenders = new Map(
    keys.map(({ apiKeyId, lenderCode, hmacSecret }) => [
      apiKeyId,
      { id: lenderIds[lenderCode]!, code: lenderCode, key: signingKey(hmacSecret) },
    ]),
  );
  const books = new NaiveBooks(new Pool({ connectionString: databaseUrl, max: CONNECTIONS }));
  const app = express();
  const readBody = express.raw({ type: () => true, limit: BODY_LIMIT });
  app.post(PATH, readBody, (request, response) => void answer(request, response));

  async function answer(request: Request, response: Response): Promise<void> {
    const lender = lenders.get(request.get("authorization")?.replace(/^Bearer /, "") ?? "");
    if (!lender || !isSigned(request, lender)) return void response.status(401).json({ error: "BAD_SIGNATURE" });
    const payment = readPayment(request);
    if (!payment) return void response.status(422).json({ error: "VALIDATION_FAILED" });
    await confirm(books, lender, payment, response);
  }

  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

async function confirm(books: NaiveBooks, lender: Lender, payment: Payment, response: Response): Promise<void> {
  try {
    const result = await books.confirm(lender, payment);
    if (result === "unknown") response.status(404).json({ error: "LOAN_NOT_FOUND" });
    else if ("original" in result) response.status(409).json({ error: "DUPLICATE", original: result.original });
    else response.json({ success: true, ...result });
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    response.status(500).json({ error: "INTERNAL_ERROR" });
  }
}

function isSigned(request: Request, { key }: Lender): boolean {
  const timestamp = request.get(HEADERS.timestamp) ?? "";
  const signature = request.get(HEADERS.signature) ?? "";
  if (!(Math.abs(Date.now() - Number(timestamp)) <= TIMESTAMP_TOLERANCE_MS)) return false;
  const { method, originalUrl: path, body } = request;
  return verify({ method, path, timestamp, body, signature, secret: key });
}

function readPayment({ body, params }: Request): Payment | undefined {
  const { amount, reference, paidAt, mode, linkId = null } = JSON.parse(String(body)) as Record<string, unknown>;
  const isWhole = typeof amount === "number" && amount > 0 && typeof reference === "string" && typeof mode === "string";
  if (!isWhole || typeof paidAt !== "string" || Number.isNaN(Date.parse(paidAt))) return undefined;
  const amountMinor = Math.round(amount * 100);
  return { loan: String(params["loan"]), amountMinor, reference, paidAt, mode, linkId: linkId as string | null };
}
