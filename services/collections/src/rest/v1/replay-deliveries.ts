import { publicId, transaction } from "@collections/database";
import { DEFAULT_REPLAY_RATE, MAX_REPLAY_RATE, type ReplayFilter, requestReplay } from "@collections/webhooks";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { validationProblem } from "../../http/problem.ts";
import { idOfRequest } from "../caller/same-request.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { countAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { isOn, switchFaults, switchParameter, unknownParameterWarnings } from "../reading/query-parameters.ts";
import { instant, LOAN_CHARACTERS, text } from "../reading/wire-types.ts";

const KIND_CHARACTERS = 64;
const PARAMETERS = [switchParameter("dryRun", "Only count the events. You can also set this in the body.")];

/** The events to send again (contract: Deliveries). Every field is optional, and so is the body. */
const replayDeliveriesBody = z.object({
  loan: text(LOAN_CHARACTERS).nullish().meta({ description: "Only events of this loan." }),
  kind: text(KIND_CHARACTERS).nullish().meta({ description: "Only events of this kind." }),
  since: instant().nullish().meta({ description: "Only events that were created at this time or later." }),
  until: instant().nullish().meta({ description: "Only events that were created before this time." }),
  state: z
    .enum(["parked", "delivered"], { error: "takes parked or delivered" })
    .nullish()
    .meta({ description: "Only events in this state; by default `parked`." }),
  ratePerSecond: z
    .number({ error: "takes a number" })
    .refine((rate) => Number.isInteger(rate) && rate >= 1 && rate <= MAX_REPLAY_RATE, {
      error: `takes a whole number from 1 to ${MAX_REPLAY_RATE}`,
      params: { code: "INVALID_ENUM" },
    })
    .meta({ type: "integer", minimum: 1, maximum: MAX_REPLAY_RATE })
    .nullish()
    .meta({ description: `The maximum number of events per second; by default ${DEFAULT_REPLAY_RATE}.` }),
  dryRun: z
    .boolean({ error: "takes true or false" })
    .nullish()
    .meta({ description: "Only count the events. You can also set this in the query string." }),
});

/** The fields of every answer about a replay. */
export const replayFields = {
  replayId: z.string().meta({ description: "The id of the replay, `replay_…`." }),
  count: countAnswer("The number of events that matched when the replay was requested."),
  ratePerSecond: countAnswer("The maximum number of events per second."),
};

const replayStartedAnswer = z
  .object({ success: successAnswer, ...replayFields, warnings: warningsAnswer })
  .meta({ description: "A replay that was started, or that already runs for the same events." });

const replayPreviewAnswer = z
  .object({
    success: successAnswer,
    dryRun: z.literal(true).meta({ description: "Always true: nothing is sent." }),
    count: countAnswer("The number of events that would be sent again."),
    warnings: warningsAnswer,
  })
  .meta({ description: "The number of events that a replay would send." });

const requestExample = { since: "2026-12-03T00:00:00Z", until: "2026-12-03T06:00:00Z", ratePerSecond: 20 };

export const replayStartedExample = {
  success: true,
  replayId: "replay_019aa3c11f6f7055c2d3e4f506172839",
  count: 1874,
  ratePerSecond: 20,
};

/** Sends many events again, or counts them (contract: Deliveries). */
export const replayDeliveries: SignedEndpoint = {
  name: "deliveries-replay",
  method: "POST",
  path: "/api/v1/partner/webhooks/deliveries/replay",
  operation: {
    id: "replayDeliveries",
    tag: "Deliveries",
    summary: "Send many events again, or count them",
    description: [
      "Sends the events that match at this moment again, in the order in which they were created. While a replay runs,",
      "another request for the same events gets the `replayId` of the running replay and does not start a second replay.",
      "Without a body, all parked events are sent again.",
    ].join("\n"),
    parameters: PARAMETERS,
    request: {
      schemas: { ReplayRequest: replayDeliveriesBody },
      required: false,
      examples: { "Parked events of a morning": requestExample },
    },
    answers: {
      200: {
        description: "With `dryRun`: the number of matching events.",
        schemas: { ReplayPreview: replayPreviewAnswer },
        examples: { "A count": { success: true, dryRun: true, count: 1874 } },
      },
      202: {
        description: "The replay was started, or was already running.",
        schemas: { ReplayStarted: replayStartedAnswer },
        examples: { "A started replay": replayStartedExample },
      },
    },
    problems: ["REQUIRED", "WRONG_TYPE", "TOO_LONG", "INVALID_TEXT", "INVALID_DATE", "NOT_UTC", "INVALID_ENUM"],
  },
  handle: startReplay,
};

async function startReplay(request: SignedRequest, { database }: App): Promise<Answer> {
  const { filter, ratePerSecond, dryRun, warnings } = readReplay(request);
  const asked = { ratePerSecond, dryRun, requestedBy: request.keyId, id: idOfRequest(request) };
  const { replay, count } = await transaction(database.em(), (tx) =>
    requestReplay(tx, request.lender.id, filter, asked),
  );
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
    faults.push({ code: "INVALID_DATE", pointer: "/until", detail: "until: must be after since." });
  }
  if (faults.length > 0) throw validationProblem(faults, warnings);
  const filter: ReplayFilter = {
    stream: loan ?? undefined,
    kind: kind ?? undefined,
    states: state ? [state] : undefined,
    createdFrom: since ?? undefined,
    createdTo: until ?? undefined,
  };
  const isRehearsal = dryRun === true || isOn(request.query, "dryRun");
  return { filter, ratePerSecond: ratePerSecond ?? undefined, dryRun: isRehearsal, warnings };
}
