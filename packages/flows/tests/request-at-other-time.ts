/**
 * Requests a payment link of 2,500 rupees in a process of its own, whose clock is wrong, and prints the id of the link. A
 * test must not set its own clock forward: the ids of a process never go back, so all later test files would make ids of
 * a future time.
 * Arguments: the URL of the database, by how many milliseconds the clock is wrong, the field partner, the visit.
 */
import assert from "node:assert/strict";
import { transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { currency } from "@collections/money";
import { requestPaymentLink } from "../src/link/request-payment-link.ts";
import { SCHEMAS } from "./schemas.ts";

const [url, byMs, fieldPartnerId, visitId] = process.argv.slice(2);
assert(url !== undefined && fieldPartnerId !== undefined && visitId !== undefined);

const trueTime = Date.now;
const wrongTime = () => trueTime() + Number(byMs);
globalThis.Date = new Proxy(Date, {
  construct: (target, given) => Reflect.construct(target, given.length === 0 ? [wrongTime()] : given),
});
Date.now = wrongTime;

const database = await createDatabase({ url, schemas: SCHEMAS });
const request = { fieldPartnerId, visitId, amountMinor: 250_000n, currency: currency("INR") };
const outcome = await transaction(database.em(), (tx) => requestPaymentLink(tx, request, {}));
await database.close();
assert(outcome.kind === "requested", outcome.kind);
process.stdout.write(outcome.link.id);
