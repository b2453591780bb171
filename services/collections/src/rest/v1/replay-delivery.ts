import { publicId, transaction } from "@collections/database";
import { replayDelivery as sendAgain } from "@collections/webhooks";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { idOfRequest } from "../caller/same-request.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { unknownFieldWarnings } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { deliveryExample, deliveryNotFound, EVENT_ID, eventIdAnswer, eventIdIn } from "./delivery.ts";

const replayedDeliveryAnswer = z
  .object({
    success: successAnswer,
    eventId: eventIdAnswer,
    state: z.enum(["waiting", "in_flight"]).meta({ description: "The state of the delivery now." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "An event that is sent again." });

/** Sends one event again (contract: Deliveries). */
export const replayDelivery: SignedEndpoint = {
  name: "deliveries-replay-one",
  method: "POST",
  path: "/api/v1/partner/webhooks/deliveries/{eventId}/replay",
  operation: {
    id: "replayDelivery",
    tag: "Deliveries",
    summary: "Send one event again",
    description:
      "The event has the same id, bytes and sequence number as before. A repeat of the request with the same " +
      "signature does not send the event again; a request with a new signature does. Your receiver recognizes " +
      "the event by its id.",
    parameters: [EVENT_ID],
    answers: {
      202: {
        description: "The event is being sent again.",
        schemas: { ReplayedDelivery: replayedDeliveryAnswer },
        examples: {
          "An event that waits to be sent": { success: true, eventId: deliveryExample.eventId, state: "waiting" },
        },
      },
    },
    problems: [
      "DELIVERY_NOT_FOUND",
      "MALFORMED_JSON",
      "JSON_TOO_COMPLEX",
      "DUPLICATE_FIELD",
      "UNSUPPORTED_MEDIA_TYPE",
      "VALIDATION_FAILED",
    ],
  },
  handle: replayOne,
};

async function replayOne(request: SignedRequest, { database }: App): Promise<Answer> {
  const warnings = request.body.length > 0 ? unknownFieldWarnings(jsonObject(request, new Set()), []) : [];
  const eventId = eventIdIn(request);
  const replayed = await transaction(database.em(), (tx) =>
    sendAgain(tx, request.lender.id, eventId, idOfRequest(request)),
  );
  if (!replayed) throw deliveryNotFound();
  return {
    status: 202,
    body: {
      success: true,
      eventId: publicId("evt", eventId),
      state: replayed.state,
      ...(warnings.length > 0 && { warnings }),
    },
  };
}
