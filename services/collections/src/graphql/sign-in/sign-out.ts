import { endSession } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { once } from "../plumbing/once.ts";
import { IdempotencyConflictError } from "../plumbing/user-error.ts";

const SignOutInput = builder.inputType("SignOutInput", {
  description: "The input of `signOut`.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new request. A repeat of the request has the same UUID.",
    }),
  }),
});

const SignOutPayload = builder.objectRef<{ readonly signedOut: boolean }>("SignOutPayload").implement({
  description: "The session of this request has ended.",
  fields: (t) => ({ signedOut: t.expose("signedOut", { type: "Boolean", description: "Always true." }) }),
});

builder.mutationField("signOut", (t) =>
  t.field({
    type: SignOutPayload,
    nullable: true,
    description:
      "Ends the session of this request at once, with all its tokens. If you get no answer, repeat the " +
      "request: the error UNAUTHENTICATED then means that the session has ended.",
    args: { input: t.arg({ type: SignOutInput, required: true, description: "The input of `signOut`." }) },
    errors: {
      types: [IdempotencyConflictError],
      union: { description: "The confirmation that you are signed out, or the reason why you are not." },
    },
    resolve(_, { input }, context) {
      const fieldPartnerId = viewer(context).id;
      const { sessionId } = context;
      if (sessionId === undefined) throw new Error("A signed-in field partner has no session.");
      // Make the session a part of the input, so that the same idempotency key in another session is a conflict.
      const inputOfSession = { ...input, sessionId };
      return once(context, "signOut", inputOfSession, async (tx) => {
        await endSession(tx, { sessionId, fieldPartnerId, reason: "signed_out" }, new Date());
        return { done: { signedOut: true } };
      });
    },
  }),
);
