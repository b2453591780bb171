import { newId, query, statement, transaction } from "@collections/database";
import { expect, test } from "vitest";
import { addressOf } from "./address.ts";
import { endpointHealth, upsertEndpoint } from "../index.ts";
import { openTrial } from "../../tests/trial.ts";

const { database } = await openTrial();
const em = () => database.em();

async function register(tenantId: string, name: string | undefined, url: string | null): Promise<void> {
  const named = name === undefined ? {} : { name, topics: ["*"] };
  await transaction(em(), (tx) => upsertEndpoint(tx, { tenantId, url, ...named }));
}

test("endpointHealth counts the suspended and the failing endpoints of one tenant, unnamed and named", async () => {
  const [tenantId, other] = [newId(), newId()];
  expect(await endpointHealth(em(), tenantId)).toEqual({ endpoints: 0, suspended: 0, failing: 0 });
  await register(tenantId, undefined, "http://127.0.0.1:1/hooks");
  await register(tenantId, "crm", "http://127.0.0.1:1/crm");
  await register(tenantId, "books", "http://127.0.0.1:1/books");
  await register(other, undefined, "http://127.0.0.1:1/hooks");
  expect(await endpointHealth(em(), tenantId)).toEqual({ endpoints: 3, suspended: 0, failing: 0 });
  await query(em(), setState, [addressOf({ tenantId, endpoint: "crm" }), "suspended", 20]);
  await query(em(), setState, [tenantId, "active", 1]);
  expect(await endpointHealth(em(), tenantId)).toEqual({ endpoints: 3, suspended: 1, failing: 1 });
  expect(await endpointHealth(em(), other)).toEqual({ endpoints: 1, suspended: 0, failing: 0 });
});

test("endpointHealth does not count an endpoint without a URL", async () => {
  const tenantId = newId();
  await register(tenantId, undefined, null);
  expect(await endpointHealth(em(), tenantId)).toEqual({ endpoints: 0, suspended: 0, failing: 0 });
});

const setState = statement(
  "webhooks-trial.set-state",
  `with clock as materialized (select now() as now)
   update webhooks.endpoint
   set state = $2, consecutive_failures = $3, failing_since = clock.now,
     suspended_at = case when $2 = 'suspended' then clock.now end,
     next_probe_at = case when $2 = 'suspended' then clock.now end
   from clock
   where lender_id = $1`,
);
