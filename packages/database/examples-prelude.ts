// Declarations that the examples in the docstrings use. The examples are compiled together with this file.
import type * as own from "@collections/database";
import type { ClientBase } from "pg";

/** Declarations of another product that writes invoices. */
declare const url: string;
declare const billingSchema: own.PackageSchema;
declare const database: own.Database;
declare const em: own.EntityManager;
declare const tx: own.Tx;
declare const invoiceId: string;
declare const lenderId: string;
declare const onlyPaid: boolean;
/** Declarations of another product that has a shop and its own connections. */
declare const client: ClientBase;
declare const pool: own.Database["pool"];
declare const cartId: string;
declare const invoiceIds: readonly string[];
declare const dueAt: Date;
declare const log: own.RoutineLog;
declare const cache: Map<string, object>;
declare const reminders: own.Queue<{ invoiceId: string }>;
declare const insertInvoice: own.Statement;
declare const invoiceById: own.Statement;
declare const lockInvoice: own.Statement;
declare const markPaid: own.Statement;
declare const openInvoices: own.Statement;
declare const openTotal: own.Statement;
declare const dueInvoices: own.AllLendersStatement;
declare const payInvoice: own.Statement;
declare const settleInvoices: own.LenderStatement;
declare const invoices: readonly { lenderId: string; id: string }[];
declare const settle: (invoiceId: string) => Promise<boolean>;
declare const settleAll: (tx: own.Tx, invoiceIds: readonly string[]) => Promise<boolean[]>;
