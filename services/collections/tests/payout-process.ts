import assert from "node:assert/strict";
import { createDatabase } from "@collections/database";
import { type PayoutToRecord, recordPayout } from "@collections/flows";
import { schemas } from "../src/schemas.ts";

// A process that records the payouts that its parent tells it of, one after the other, until it is killed.
const url = process.env["DATABASE_URL"];
assert(url);
const database = await createDatabase({ url, schemas, poolMax: 1, applicationName: `payout-${process.pid}` });
// As the command has, by the time that it records.
await database.pool.query("select 1");

process.on("message", (order: PayoutToRecord) => {
  void recordPayout(database.em(), order).then(({ kind }) => process.send!({ kind }));
});
process.on("disconnect", () => process.exit(0));
process.send!({ kind: "ready" });
