// Declarations that the examples in the docstrings use. The examples are compiled together with this file.
import type * as own from "@collections/lender-sdk";
import type { Express } from "express";
import type { Pool, PoolClient } from "pg";

declare const client: own.CollectionsClient;
declare const receiver: own.Receiver;
declare const rows: readonly own.CaseRow[];
declare const payment: own.CapturedPayment;
declare const returned: own.ReturnedPayment;
declare function confirmLater(loan: string, payment: own.CapturedPayment, afterMs: number): Promise<void>;
declare const app: Express;
declare const pool: Pool;
declare function inTransaction<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result>;
declare const secret: string;
/** Headers of a request. */
declare const headers: Headers;
declare const body: Uint8Array<ArrayBuffer>;
declare const text: string;
declare const timestamp: string;
declare const signature: string;
