import { readInstant } from "@collections/cases";
import { type Database, parsePublicId, publicId } from "@collections/database";
import { type DeliveryFilter, type DeliveryState, listDeliveries as readDeliveries } from "@collections/webhooks";
import { type FieldFault, validationProblem } from "../../http/problem.ts";
import { type ParameterReading, readParameter, unknownParameterWarnings } from "../query-parameters.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";
import { LOAN_CHARACTERS, textFault } from "../wire-types.ts";
import { deliveryBody } from "./delivery-body.ts";

export const PARAMETERS = ["state", "loan", "since", "cursor", "limit"];
export const DELIVERY_STATES: ReadonlyMap<string, readonly DeliveryState[]> = new Map([
  ["waiting", ["waiting", "retrying"]],
  ["in_flight", ["in_flight"]],
  ["delivered", ["delivered"]],
  ["parked", ["parked"]],
]);
export const MAX_LIMIT = 200;

/** GET /api/v1/partner/webhooks/deliveries (contract: Deliveries): a lender's events on their way, newest first. */
export async function listDeliveries(request: SignedRequest, { em }: Pick<Database, "em">): Promise<Answer> {
  const { filter, warnings } = readFilter(request);
  const page = await readDeliveries(em(), { ...filter, lenderId: request.lender.id }, new Date());
  const body = {
    success: true,
    deliveries: page.deliveries.map(deliveryBody),
    nextCursor: page.nextCursor && publicId("cur", page.nextCursor),
    ...warnings,
  };
  return { status: 200, body };
}

function readFilter({ query }: SignedRequest): { filter: DeliveryFilter; warnings: object } {
  const found = unknownParameterWarnings(query, PARAMETERS);
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults: FieldFault[] = [];
  const states = readParameter(query, "state", faults, readState);
  const loan = readParameter(query, "loan", faults, readLoan);
  const since = readParameter(query, "since", faults, readSince);
  const cursor = readParameter(query, "cursor", faults, readCursor);
  const limit = readParameter(query, "limit", faults, readLimit);
  if (faults.length > 0) throw validationProblem(faults, warnings);
  const filter = {
    ...(states && { states }),
    ...(loan !== undefined && { loan }),
    ...(since && { since }),
    ...(cursor !== undefined && { cursor }),
    ...(limit !== undefined && { limit }),
  };
  return { filter, warnings };
}

function readState(text: string): ParameterReading<readonly DeliveryState[]> {
  const states = DELIVERY_STATES.get(text);
  return states
    ? { value: states }
    : { code: "INVALID_ENUM", words: `takes ${[...DELIVERY_STATES.keys()].join(", ")}` };
}

function readLoan(text: string): ParameterReading<string> {
  const loan = text.trim();
  const fault = textFault(loan, LOAN_CHARACTERS);
  return fault ? { code: fault.code, words: fault.message } : { value: loan };
}

function readSince(text: string): ParameterReading<Date> {
  const reading = readInstant(text);
  if ("instant" in reading) return { value: reading.instant };
  const hint = text.includes(" ") ? "; a + has to be written as %2B there" : "";
  return { code: reading.fault, words: `takes an instant such as 2026-11-20T09:41:07Z${hint}` };
}

function readCursor(text: string): ParameterReading<string> {
  const eventId = parsePublicId("cur", text);
  return eventId === undefined
    ? { code: "INVALID_ENUM", words: "takes the nextCursor of the page before" }
    : { value: eventId };
}

function readLimit(text: string): ParameterReading<number> {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= MAX_LIMIT
    ? { value: limit }
    : { code: "INVALID_ENUM", words: `takes a whole number from 1 to ${MAX_LIMIT}` };
}
