import { transaction } from "@collections/database";
import { refreshSession } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";
import "./sign-in-error.ts";
import { admitRefresh } from "./refresh-limit.ts";
import { keyConflict } from "./sign-in-limit.ts";
import { tokensPayload } from "./tokens.ts";
import { IdempotencyConflictError, refusedError, SessionEndedError } from "../plumbing/user-error.ts";

const RefreshSessionInput = builder.inputType("RefreshSessionInput", {
  description: "A refresh token, which can be used once.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description:
        "A UUID that the app creates and stores with the refresh token, so that each repeat has the same UUID.",
    }),
    refreshToken: t.string({ required: true, description: "The newest refresh token of the session." }),
  }),
});

builder.mutationField("refreshSession", (t) =>
  t.field({
    type: tokensPayload("RefreshSessionPayload", "New tokens for the same session."),
    nullable: true,
    skipTypeScopes: true,
    description:
      "Returns new tokens for a refresh token. If you get no answer, repeat the same request: it returns the " +
      "same tokens for a day. If another request has a refresh token that was already used, the session ends, " +
      "because somebody may have copied the token. Needs no access token.",
    args: { input: t.arg({ type: RefreshSessionInput, required: true, description: "The refresh token." }) },
    errors: {
      types: [SessionEndedError, IdempotencyConflictError],
      union: { description: "New tokens, or the reason why there are none." },
    },
    async resolve(_, { input }, context) {
      await admitRefresh(context, input.refreshToken);
      const { app, reads } = context;
      const outcome = await transaction(reads.em, (tx) => refreshSession(tx, app.signInKeys, input, new Date()));
      app.metrics.onSignIn("refresh", outcome.kind);
      switch (outcome.kind) {
        case "refreshed":
          return outcome;
        case "over":
          throw refusedError({ code: "SESSION_ENDED", message: "The session has ended: sign in again." });
        case "conflict":
          throw keyConflict();
      }
    },
  }),
);
