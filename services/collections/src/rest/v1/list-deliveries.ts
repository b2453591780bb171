import { parsePublicId, publicId } from "@collections/database";
import { type DeliveryFilter, type DeliveryState, listDeliveries as readDeliveries } from "@collections/webhooks";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { type FieldFault, validationProblem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { nextCursorAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { Parameter, SignedEndpoint } from "../endpoint/endpoint.ts";
import { readLoan, readTime } from "../reading/list-parameters.ts";
import { type ParameterReading, readParameter, unknownParameterWarnings } from "../reading/query-parameters.ts";
import { LOAN_CHARACTERS } from "../reading/wire-types.ts";
import { deliveryAnswer, deliveryBody, deliveryExample } from "./delivery.ts";

const DELIVERY_STATES: ReadonlyMap<string, readonly DeliveryState[]> = new Map([
  ["waiting", ["waiting", "retrying"]],
  ["in_flight", ["in_flight"]],
  ["delivered", ["delivered"]],
  ["parked", ["parked"]],
]);
const MAX_LIMIT = 200;

const PARAMETERS: readonly Parameter[] = [
  {
    name: "state",
    in: "query",
    description: "Only events in this state. `waiting` means that the delivery is due, or between two attempts.",
    schema: { type: "string", enum: [...DELIVERY_STATES.keys()] },
  },
  {
    name: "loan",
    in: "query",
    description: "Only events of this loan.",
    schema: { type: "string", minLength: 1, maxLength: LOAN_CHARACTERS },
  },
  {
    name: "since",
    in: "query",
    description: "Only events that were created at this time or later. Write a `+` as `%2B`.",
    schema: { type: "string", format: "date-time" },
  },
  { name: "cursor", in: "query", description: "The `nextCursor` of the previous page.", schema: { type: "string" } },
  {
    name: "limit",
    in: "query",
    description: "The maximum number of deliveries in a page.",
    schema: { type: "integer", minimum: 1, maximum: MAX_LIMIT, default: 50 },
  },
];

const deliveriesAnswer = z
  .object({
    success: successAnswer,
    deliveries: z.array(deliveryAnswer).meta({ description: "A page of events, the newest first." }),
    nextCursor: nextCursorAnswer,
    warnings: warningsAnswer,
  })
  .meta({ description: "A page of your events." });

/** Lists a lender's deliveries, the newest first (contract: Deliveries). */
export const listDeliveries: SignedEndpoint = {
  name: "deliveries-list",
  method: "GET",
  path: "/api/v1/partner/webhooks/deliveries",
  operation: {
    id: "listDeliveries",
    tag: "Deliveries",
    summary: "List your events and the state of their delivery",
    description: "Returns the newest events first, in pages. Each parameter may be given at most once.",
    parameters: PARAMETERS,
    answers: {
      200: {
        description: "A page of events.",
        schemas: { Deliveries: deliveriesAnswer, Delivery: deliveryAnswer },
        examples: { "A parked event": { success: true, deliveries: [deliveryExample], nextCursor: null } },
      },
    },
    problems: [
      "VALIDATION_FAILED",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "INVALID_DATE",
      "NOT_UTC",
      "INVALID_ENUM",
    ],
  },
  handle: answerDeliveries,
};

async function answerDeliveries(request: SignedRequest, { database }: App): Promise<Answer> {
  const { filter, warnings } = readFilter(request);
  const page = await readDeliveries(database.em(), { ...filter, tenantId: request.lender.id }, new Date());
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
  const since = readParameter(query, "since", faults, readTime);
  const cursor = readParameter(query, "cursor", faults, readCursor);
  const limit = readParameter(query, "limit", faults, readLimit);
  if (faults.length > 0) throw validationProblem(faults, warnings);
  const filter = {
    ...(states && { states }),
    ...(loan !== undefined && { stream: loan }),
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

function readCursor(text: string): ParameterReading<string> {
  const eventId = parsePublicId("cur", text);
  return eventId === undefined
    ? { code: "INVALID_ENUM", words: "takes the nextCursor of the previous page" }
    : { value: eventId };
}

function readLimit(text: string): ParameterReading<number> {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= MAX_LIMIT
    ? { value: limit }
    : { code: "INVALID_ENUM", words: `takes a whole number from 1 to ${MAX_LIMIT}` };
}
