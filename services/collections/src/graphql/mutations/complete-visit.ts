import type { Tx } from "@collections/entities";
import { completeVisit, queueCompletion, MAX_NOTE_CHARS, type VisitToComplete } from "@collections/flows";
import { completed, type Visited } from "../../mutation-results/outcomes.ts";
import { type Kept, visitNotFound } from "../../mutation-results/refusal.ts";
import { builder } from "../plumbing/builder.ts";
import { type Context, viewer } from "../plumbing/context.ts";
import { MoneyInput, moneyOf } from "../plumbing/money.ts";
import { keptOrThrown, once } from "../plumbing/once.ts";
import { IdempotencyConflictError, VisitAlreadyCompletedError, VisitNotFoundError } from "../plumbing/user-error.ts";
import { DispositionRef } from "../types/visit.ts";
import { visitedPayload } from "../types/visited.ts";

const PromiseInput = builder.inputType("PromiseInput", {
  description: "The borrower's promise to pay an amount by a certain day.",
  fields: (t) => ({
    amount: t.field({ type: MoneyInput, required: true, description: "The promised amount." }),
    dueOn: t.field({
      type: "Date",
      required: true,
      description: "The last day for the payment; not before the day of the visit.",
    }),
  }),
});

const CompleteVisitInput = builder.inputType("CompleteVisitInput", {
  description: "The end of a visit. The app may send it later, for example because the phone had no network.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new request. A repeat of the request has the same UUID.",
    }),
    visitId: t.field({ type: "UUID", required: true, description: "The `visitId` with which the visit was started." }),
    disposition: t.field({ type: DispositionRef, required: true, description: "The result of the visit." }),
    occurredAt: t.field({
      type: "DateTime",
      required: true,
      description:
        "When the visit ended, by the phone's clock. An impossible time is replaced as in `startVisit`, and the visit is " +
        "marked with `completionClockWrong`. A promise is then due as many days after the arrival as it was due after " +
        "the phone's time.",
    }),
    promise: t.field({
      type: PromiseInput,
      description: "The borrower's promise. Send it with the disposition PROMISE_TO_PAY only.",
    }),
    note: t.string({ description: `The field partner's note, of at most ${MAX_NOTE_CHARS} characters.` }),
  }),
});

builder.mutationField("completeVisit", (t) =>
  t.field({
    type: visitedPayload("CompleteVisitPayload", "A visit that has ended."),
    nullable: true,
    description: "Ends one of your visits. The disposition DISPUTE puts the case on hold.",
    args: { input: t.arg({ type: CompleteVisitInput, required: true, description: "How the visit ended." }) },
    errors: {
      types: [VisitNotFoundError, VisitAlreadyCompletedError, IdempotencyConflictError],
      union: { description: "The visit that has ended, or the reason why it was not ended." },
    },
    resolve(_, { input }, context) {
      const { visitId, disposition, occurredAt, promise, note } = input;
      const completion: VisitToComplete = {
        fieldPartnerId: viewer(context).id,
        visitId,
        disposition,
        occurredAt,
        ...(promise && { promise: promiseOf(promise) }),
        ...(typeof note === "string" && { note }),
      };
      return once(context, "completeVisit", input, (tx) => complete(tx, input.idempotencyKey, completion, context));
    },
  }),
);

async function complete(tx: Tx, key: string, completion: VisitToComplete, { app }: Context): Promise<Kept<Visited>> {
  const { environment } = app.config;
  const outcome = await completeVisit(tx, completion, { environment });
  if (outcome.kind === "not_found") return { refusal: visitNotFound(await queueCompletion(tx, key, completion)) };
  return keptOrThrown(completed(outcome));
}

type PromiseFields = { amount: Parameters<typeof moneyOf>[0]; dueOn: string };

function promiseOf({ amount, dueOn }: PromiseFields): NonNullable<VisitToComplete["promise"]> {
  const { minor, currency } = moneyOf(amount);
  return { amountMinor: minor, currency, dueOn };
}
