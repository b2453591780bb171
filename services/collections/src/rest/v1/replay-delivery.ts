import { type Database, publicId, transaction } from "@collections/database";
import { replayDelivery as sendAgain } from "@collections/webhooks";
import { unknownFieldWarnings } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";
import { idOfRequest } from "../same-request.ts";
import { deliveryNotFound, eventIdIn } from "./delivery-body.ts";

/** POST /api/v1/partner/webhooks/deliveries/{eventId}/replay (contract: Deliveries): sends one event again. */
export async function replayDelivery(request: SignedRequest, { em }: Pick<Database, "em">): Promise<Answer> {
  const warnings = request.body.length > 0 ? unknownFieldWarnings(jsonObject(request, new Set()), []) : [];
  const eventId = eventIdIn(request);
  const replayed = await transaction(em(), (tx) => sendAgain(tx, request.lender.id, eventId, idOfRequest(request)));
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
