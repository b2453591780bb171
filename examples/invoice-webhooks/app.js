import { inTransaction } from "@collections/database";
import { emit, InvalidEndpointError, listEndpoints, removeEndpoint, upsertEndpoint } from "@collections/webhooks";
import Fastify from "fastify";

/** The HTTP API of the invoicing application. A company is a tenant of the webhooks, and an invoice is a stream. */
export function createApp({ pool, database }) {
  const app = Fastify();

  function eventOf(company, number, kind, amountMinor) {
    // Each endpoint gets a copy with the same id and its own sequence.
    const body = ({ eventId, sequence }) =>
      JSON.stringify({ eventId, kind, invoice: number, sequence: Number(sequence), amountMinor });
    return { tenantId: company, kind, stream: number, occurredAt: new Date(), body };
  }

  app.put("/companies/:company/endpoints/:name", async (request, reply) => {
    const { company, name } = request.params;
    const { url, topics } = request.body;
    await inTransaction(database, pool, async (tx) => upsertEndpoint(tx, { tenantId: company, name, url, topics }));
    return reply.code(204).send();
  });

  app.get("/companies/:company/endpoints", (request) => endpointsOf(request.params.company));

  async function endpointsOf(company) {
    const endpoints = await listEndpoints(database.em(), company);
    return endpoints.map(({ name, topics, state, waiting, parked }) => ({ name, topics, state, waiting, parked }));
  }

  app.delete("/companies/:company/endpoints/:name", async (request, reply) => {
    const { company, name } = request.params;
    const wasRegistered = await inTransaction(database, pool, async (tx) =>
      removeEndpoint(tx, { tenantId: company, name }),
    );
    return reply.code(wasRegistered ? 204 : 404).send();
  });

  app.post("/companies/:company/invoices", async (request, reply) => {
    const { company } = request.params;
    const { number, amountMinor } = request.body;
    const [event] = await inTransaction(database, pool, async (tx, client) => {
      await client.query("insert into invoice values ($1, $2, $3)", [company, number, amountMinor]);
      return emit(tx, [eventOf(company, number, "invoice.sent", amountMinor)]);
    });
    return reply.code(201).send({ informed: event.endpoints.map(({ name }) => name) });
  });

  app.post("/companies/:company/invoices/:number/payments", async (request, reply) => {
    const { company, number } = request.params;
    const { amountMinor } = request.body;
    const events = await inTransaction(database, pool, async (tx, client) => {
      const paid = [
        eventOf(company, number, "payment.received", amountMinor),
        eventOf(company, number, "invoice.paid", amountMinor),
      ];
      const emitted = await emit(tx, paid);
      // The check constraint of the table refuses an amount that is not above 0. The rollback removes the events too.
      await client.query("insert into payment values ($1, $2, $3)", [company, number, amountMinor]);
      return emitted;
    });
    return reply.code(201).send({ informed: events.flatMap(({ endpoints }) => endpoints.map(({ name }) => name)) });
  });

  app.setErrorHandler((error, _request, reply) => {
    const isRefused = error instanceof InvalidEndpointError;
    return reply.code(isRefused ? 422 : 500).send({ error: isRefused ? error.message : "The request failed." });
  });

  return app;
}
