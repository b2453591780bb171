import type { Tx } from "@collections/database";
import {
  completeVisitIn,
  type CompleteVisitOutcome,
  holdCompletion,
  MAX_NOTE_CHARS,
  type VisitToComplete,
} from "@collections/flows";
import { builder } from "./builder.ts";
import { badInput } from "./client-error.ts";
import { type Context, viewer } from "./context.ts";
import { MoneyInput, moneyOf } from "./money.ts";
import { type Kept, once } from "./once.ts";
import {
  IdempotencyConflictError,
  VisitAlreadyCompletedError,
  VisitNotFoundError,
  visitNotFound,
} from "./user-error.ts";
import { DispositionRef } from "./visit.ts";
import { type Visited, visitedPayload } from "./visited.ts";

const PromiseInput = builder.inputType("PromiseInput", {
  description: "The borrower's word to pay an amount by a day.",
  fields: (t) => ({
    amount: t.field({ type: MoneyInput, required: true, description: "How much." }),
    dueOn: t.field({ type: "Date", required: true, description: "By when; not before the visit." }),
  }),
});

const CompleteVisitInput = builder.inputType("CompleteVisitInput", {
  description: "The end of a visit. It may be told of later: what happened is recorded.",
  fields: (t) => ({
    idempotencyKey: t.field({ type: "UUID", required: true, description: "A new one for each new intention." }),
    visitId: t.field({ type: "UUID", required: true, description: "The `visitId` that the visit was started with." }),
    disposition: t.field({ type: DispositionRef, required: true, description: "How it ended." }),
    occurredAt: t.field({ type: "DateTime", required: true, description: "When, by the phone's clock." }),
    promise: t.field({ type: PromiseInput, description: "With PROMISE_TO_PAY, and only with it." }),
    note: t.string({ description: `At most ${MAX_NOTE_CHARS} characters.` }),
  }),
});

builder.mutationField("completeVisit", (t) =>
  t.field({
    type: visitedPayload("CompleteVisitPayload", "A visit that has ended."),
    nullable: true,
    description: "Ends one of your visits. A dispute holds its case.",
    args: { input: t.arg({ type: CompleteVisitInput, required: true, description: "How the visit ended." }) },
    errors: {
      types: [VisitNotFoundError, VisitAlreadyCompletedError, IdempotencyConflictError],
      union: { description: "The visit that has ended, or why it has not." },
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
  const outcome = await completeVisitIn(tx, completion, { environment });
  if (outcome.kind === "not_found") return { refusal: visitNotFound(await holdCompletion(tx, key, completion)) };
  return completed(outcome);
}

/** What is kept of the outcome for repeats. Throws BAD_INPUT. */
export function completed(outcome: CompleteVisitOutcome): Kept<Visited> {
  switch (outcome.kind) {
    case "completed":
      return { done: { visitId: outcome.visit.id, caseId: outcome.visit.caseId } };
    case "not_found":
      return { refusal: visitNotFound(false) };
    case "conflict": {
      const message = `The visit ended as ${outcome.visit.disposition} already.`;
      return { refusal: { code: "VISIT_ALREADY_COMPLETED", message } };
    }
    case "invalid":
      throw badInput(outcome.detail);
  }
}

type PromiseFields = { amount: Parameters<typeof moneyOf>[0]; dueOn: string };

function promiseOf({ amount, dueOn }: PromiseFields): NonNullable<VisitToComplete["promise"]> {
  const { minor, currency } = moneyOf(amount);
  return { amountMinor: minor, currency, dueOn };
}
