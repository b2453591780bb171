import { endSession, openSessionsOf, type Session } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { once } from "../plumbing/once.ts";
import "./sign-in-error.ts";
import { IdempotencyConflictError, SessionNotFoundError } from "../plumbing/user-error.ts";

/**
 * The complexity of the list of sessions is higher than that of one object, because the list has up to 100 sessions.
 */
const SESSIONS_COMPLEXITY = 20;

const SessionRef = builder.objectRef<Session>("Session");

builder.node(SessionRef, {
  description: "One of your sign-ins that has not ended.",
  id: { resolve: ({ id }) => id, description: "An opaque id that never changes." },
  async loadWithoutCache(id, context) {
    const sessions = await openSessionsOf(context.reads.em, viewer(context).id, new Date());
    return sessions.find((session) => session.id === id) ?? null;
  },
  fields: (t) => ({
    deviceName: t.exposeString("deviceName", {
      nullable: true,
      description:
        "The name that the app gave to the device; null if it gave none, or if an operator issued the token.",
    }),
    startedAt: t.expose("issuedAt", { type: "DateTime", description: "When the session began." }),
    refreshedAt: t.expose("refreshedAt", {
      type: "DateTime",
      nullable: true,
      description: "When the tokens of the session were last renewed.",
    }),
    expiresAt: t.expose("expiresAt", { type: "DateTime", description: "When the session ends if it is not renewed." }),
    isCurrent: t.boolean({
      description: "Whether it is the session of this request.",
      resolve: ({ id }, _, { sessionId }) => id === sessionId,
    }),
  }),
});

builder.queryField("sessions", (t) =>
  t.field({
    type: [SessionRef],
    nullable: true,
    description: "The sessions in which you are signed in, the newest first, at most 100.",
    complexity: { field: 1, multiplier: SESSIONS_COMPLEXITY },
    resolve: (_root, _args, context) => openSessionsOf(context.reads.em, viewer(context).id, new Date()),
  }),
);

const EndSessionInput = builder.inputType("EndSessionInput", {
  description: "A session to end.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new request. A repeat of the request has the same UUID.",
    }),
    sessionId: t.globalID({ required: true, for: SessionRef, description: "The `id` of the session." }),
  }),
});

const EndSessionPayload = builder.objectRef<{ readonly ended: boolean }>("EndSessionPayload").implement({
  description: "The session has ended, and its tokens are no longer valid.",
  fields: (t) => ({
    sessions: t.field({
      type: [SessionRef],
      description: "The sessions in which you are still signed in.",
      complexity: { field: 1, multiplier: SESSIONS_COMPLEXITY },
      resolve: (_root, _args, context) => openSessionsOf(context.reads.em, viewer(context).id, new Date()),
    }),
  }),
});

builder.mutationField("endSession", (t) =>
  t.field({
    type: EndSessionPayload,
    nullable: true,
    description: "Ends one of your sessions at once, such as the session of a lost phone.",
    args: { input: t.arg({ type: EndSessionInput, required: true, description: "The session to end." }) },
    errors: {
      types: [SessionNotFoundError, IdempotencyConflictError],
      union: { description: "The confirmation that the session has ended, or the reason why it was not ended." },
    },
    resolve(_, { input }, context) {
      const ending = { sessionId: input.sessionId.id, fieldPartnerId: viewer(context).id };
      return once(context, "endSession", input, async (tx) => {
        const isMine = await endSession(tx, { ...ending, reason: "ended_by_owner" }, new Date());
        if (isMine) return { done: { ended: true } };
        return { refusal: { code: "SESSION_NOT_FOUND", message: "You have no session with this id." } };
      });
    },
  }),
);
