import { type Database, publicId, transaction } from "@collections/database";
import { DEFAULT_REPLAY_RATE, MAX_REPLAY_RATE, type ReplayFilter, requestReplay } from "@collections/webhooks";
import { z } from "zod";
import { fieldFaults, unknownFieldWarnings } from "../field-faults.ts";
import { jsonObject } from "../json-body.ts";
import { validationProblem } from "../../http/problem.ts";
import { isOn, switchFaults, unknownParameterWarnings } from "../query-parameters.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";
import { idOfRequest } from "../same-request.ts";
import { instant, LOAN_CHARACTERS, text } from "../wire-types.ts";

const KIND_CHARACTERS = 64;
export const PARAMETERS = ["dryRun"];

/** Which events to send again (contract: Deliveries); none of it has to be there. */
export const replayDeliveriesBody = z.object({
  loan: text(LOAN_CHARACTERS).nullish().meta({ description: "Events of this loan only." }),
  kind: text(KIND_CHARACTERS).nullish().meta({ description: "Events of this kind only." }),
  since: instant().nullish().meta({ description: "Events made at this time or later." }),
  until: instant().nullish().meta({ description: "Events made before this time." }),
  state: z
    .enum(["parked", "delivered"], { error: "takes parked or delivered" })
    .nullish()
    .meta({ description: "Events in this state; parked unless told." }),
  ratePerSecond: z
    .number({ error: "takes a number" })
    .refine((rate) => Number.isInteger(rate) && rate >= 1 && rate <= MAX_REPLAY_RATE, {
      error: `takes a whole number from 1 to ${MAX_REPLAY_RATE}`,
      params: { code: "INVALID_ENUM" },
    })
    .meta({ type: "integer", minimum: 1, maximum: MAX_REPLAY_RATE })
    .nullish()
    .meta({ description: `Events a second at most; ${DEFAULT_REPLAY_RATE} unless told.` }),
  dryRun: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({ description: "Only count. Either this or the query says it." }),
});

/** POST /api/v1/partner/webhooks/deliveries/replay (contract: Deliveries): sends many events again, or counts them. */
export async function replayDeliveries(request: SignedRequest, { em }: Pick<Database, "em">): Promise<Answer> {
  const { filter, ratePerSecond, dryRun, warnings } = readReplay(request);
  const asked = { ratePerSecond, dryRun, requestedBy: request.keyId, id: idOfRequest(request) };
  const { replay, count } = await transaction(em(), (tx) => requestReplay(tx, request.lender.id, filter, asked));
  if (!replay) return { status: 200, body: { success: true, dryRun: true, count, ...warnings } };
  const replayId = publicId("replay", replay.id);
  return { status: 202, body: { success: true, replayId, count, ratePerSecond: replay.ratePerSecond, ...warnings } };
}

function readReplay(request: SignedRequest) {
  const body = request.body.length > 0 ? jsonObject(request, new Set()) : {};
  const parsed = replayDeliveriesBody.safeParse(body);
  const found = [
    ...unknownParameterWarnings(request.query, PARAMETERS),
    ...unknownFieldWarnings(body, Object.keys(replayDeliveriesBody.shape)),
  ];
  const warnings = found.length > 0 ? { warnings: found } : {};
  const faults = switchFaults(request.query, PARAMETERS);
  if (!parsed.success) faults.push(...fieldFaults(parsed.error, body));
  const { loan, kind, since, until, state, ratePerSecond, dryRun } = parsed.data ?? {};
  if (since && until && since >= until) {
    faults.push({ code: "INVALID_DATE", pointer: "/until", detail: "until: has to lie after since." });
  }
  if (faults.length > 0) throw validationProblem(faults, warnings);
  const filter: ReplayFilter = {
    loan: loan ?? undefined,
    kind: kind ?? undefined,
    states: state ? [state] : undefined,
    createdFrom: since ?? undefined,
    createdTo: until ?? undefined,
  };
  const isRehearsal = dryRun === true || isOn(request.query, "dryRun");
  return { filter, ratePerSecond: ratePerSecond ?? undefined, dryRun: isRehearsal, warnings };
}
