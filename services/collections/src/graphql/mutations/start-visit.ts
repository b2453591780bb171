import type { Tx } from "@collections/entities";
import { startVisit, type VisitToStart } from "@collections/flows";
import { notWorkable } from "../../mutation-results/blocked-words.ts";
import type { Visited } from "../../mutation-results/outcomes.ts";
import type { Kept } from "../../mutation-results/refusal.ts";
import { builder } from "../plumbing/builder.ts";
import { CaseRef } from "../types/case.ts";
import { badInput } from "../plumbing/client-error.ts";
import { type Context, viewer } from "../plumbing/context.ts";
import { runQueuedRequests } from "../../mutation-results/queued-requests.ts";
import { once } from "../plumbing/once.ts";
import {
  CaseNotFoundError,
  CaseNotWorkableError,
  IdempotencyConflictError,
  VisitIdTakenError,
} from "../plumbing/user-error.ts";
import { visitedPayload } from "../types/visited.ts";

const StartVisitInput = builder.inputType("StartVisitInput", {
  description: "The start of a visit. The app may send it later, for example because the phone had no network.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new request. A repeat of the request has the same UUID.",
    }),
    visitId: t.field({ type: "UUID", required: true, description: "The id of the visit, which the app creates." }),
    caseId: t.globalID({ required: true, for: CaseRef, description: "The `id` of the case." }),
    occurredAt: t.field({
      type: "DateTime",
      required: true,
      description:
        "When the visit began, by the phone's clock. A time before 2000 or more than a day in the future is replaced by " +
        "the time of arrival, and the visit is marked with `startClockWrong`.",
    }),
    latitude: t.float({ description: "The latitude of the place, in degrees. Send it together with `longitude`." }),
    longitude: t.float({ description: "The longitude of the place, in degrees. Send it together with `latitude`." }),
    accuracyM: t.float({ description: "The accuracy of the place, in metres." }),
  }),
});

builder.mutationField("startVisit", (t) =>
  t.field({
    type: visitedPayload("StartVisitPayload", "A visit that has begun."),
    nullable: true,
    description: "Starts a visit on one of your cases, and processes the queued requests of the visit.",
    args: { input: t.arg({ type: StartVisitInput, required: true, description: "The start of the visit." }) },
    errors: {
      types: [CaseNotFoundError, CaseNotWorkableError, VisitIdTakenError, IdempotencyConflictError],
      union: { description: "The visit that has begun, or the reason why it was not started." },
    },
    resolve(_, { input }, context) {
      const { visitId, caseId, occurredAt } = input;
      const location = locationOf(input);
      const start = { fieldPartnerId: viewer(context).id, visitId, caseId: caseId.id, occurredAt, location };
      return once(context, "startVisit", input, (tx) => begin(tx, start, context));
    },
  }),
);

type StartWithPlace = Omit<VisitToStart, "location"> & { location: VisitToStart["location"] | undefined };

async function begin(tx: Tx, { location, ...start }: StartWithPlace, context: Context): Promise<Kept<Visited>> {
  const { environment } = context.app.config;
  const outcome = await startVisit(tx, { ...start, ...(location && { location }) }, { environment });
  switch (outcome.kind) {
    case "started":
      await runQueuedRequests(tx, start, context.app);
      return { done: { visitId: start.visitId, caseId: start.caseId } };
    case "not_found":
      return { refusal: { code: "CASE_NOT_FOUND", message: "There is no such case among your cases." } };
    case "not_workable":
      return { refusal: notWorkable(outcome.code) };
    case "visit_id_taken":
      return { refusal: { code: "VISIT_ID_TAKEN", message: "The visitId is in use; make a new one." } };
    case "invalid":
      throw badInput(outcome.detail);
  }
}

interface Place {
  readonly latitude?: number | null | undefined;
  readonly longitude?: number | null | undefined;
  readonly accuracyM?: number | null | undefined;
}

function locationOf({ latitude, longitude, accuracyM }: Place): VisitToStart["location"] | undefined {
  if (typeof latitude === "number" && typeof longitude === "number") {
    return { latitude, longitude, accuracyM: accuracyM ?? undefined };
  }
  if (typeof latitude === "number" || typeof longitude === "number") {
    throw badInput("A place needs both latitude and longitude.");
  }
  return undefined;
}
