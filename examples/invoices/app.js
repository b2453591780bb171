import { randomUUID } from "node:crypto";
import { inTransaction } from "@collections/database";
import { InvalidPostingError } from "@collections/ledger";
import Fastify from "fastify";
import { invoicing } from "./chart.js";

/** The tax account of each rate, in percent. */
const TAXES = new Map([
  [19, "tax_standard"],
  [7, "tax_reduced"],
]);

/** The HTTP API of the invoicing application. `company` is the UUID of the book. */
export function createApp({ pool, database, company }) {
  const app = Fastify();
  const account = (kind, ownerId = company) => ({ book: company, kind, ownerId, currency: "EUR" });

  // Creates an invoice from its lines. Each line has a net amount in minor units and a rate of tax in percent.
  app.post("/invoices", async (request, reply) => {
    const { customer, lines } = request.body;
    const invoice = { id: randomUUID(), customer };
    await inTransaction(database, pool, async (tx, client) => {
      await client.query("insert into invoice (id, customer) values ($1, $2)", [invoice.id, customer]);
      const kinds = ["revenue", "bank", ...TAXES.values()];
      const [receivable, ...own] = invoicing.open(tx, [
        account("receivable", customer),
        ...kinds.map((kind) => account(kind)),
      ]);
      const ids = new Map(kinds.map((kind, index) => [kind, own[index]]));
      const posting = { book: company, debit: receivable, subject: invoice.id };
      for (const { text, netMinor, taxPercent } of lines) {
        const net = BigInt(netMinor);
        const tax = (net * BigInt(taxPercent) + 50n) / 100n;
        invoicing.post(
          tx,
          { ...posting, kind: "invoice", credit: ids.get("revenue"), amountMinor: net, memo: text },
          { ...posting, kind: "invoice_tax", credit: ids.get(TAXES.get(taxPercent)), amountMinor: tax },
        );
      }
    });
    return reply.code(201).send({ id: invoice.id, owedMinor: await owedMinor(invoice) });
  });

  app.post("/invoices/:id/receipts", async (request, reply) => {
    const { rows } = await pool.query("select id, customer from invoice where id = $1", [request.params.id]);
    const [invoice] = rows;
    if (!invoice) return reply.code(404).send({ error: "There is no such invoice." });
    await inTransaction(database, pool, async (tx) => {
      const debit = invoicing.account(request.body.into ?? "bank", company, "EUR");
      const credit = invoicing.account("receivable", invoice.customer, "EUR");
      const amountMinor = BigInt(request.body.amountMinor);
      invoicing.post(tx, { book: company, kind: "receipt", debit, credit, amountMinor, subject: invoice.id });
    });
    return reply.code(201).send({ id: invoice.id, owedMinor: await owedMinor(invoice) });
  });

  app.setErrorHandler((error, _request, reply) => {
    const isRefused = error instanceof InvalidPostingError;
    return reply.code(isRefused ? 422 : 500).send({ error: isRefused ? error.message : "The request failed." });
  });

  async function owedMinor({ customer }) {
    const receivable = invoicing.account("receivable", customer, "EUR");
    return String((await invoicing.balance(database.em(), { book: company, account: receivable })).balanceMinor);
  }

  return app;
}
