import { endSession, openSessionsOf, type Session } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { once } from "../plumbing/once.ts";
import "./sign-in-error.ts";
import { IdempotencyConflictError, SessionNotFoundError } from "../plumbing/user-error.ts";

/** The list has up to 100 sessions, which costs more than one object. */
const SESSIONS_COMPLEXITY = 20;

const SessionRef = builder.objectRef<Session>("Session");

builder.node(SessionRef, {
  description: "One sign-in of yours that has not ended.",
  id: { resolve: ({ id }) => id, description: "Opaque and the same for good." },
  async loadWithoutCache(id, context) {
    const sessions = await openSessionsOf(context.reads.em, viewer(context).id, new Date());
    return sessions.find((session) => session.id === id) ?? null;
  },
  fields: (t) => ({
    deviceName: t.exposeString("deviceName", {
      nullable: true,
      description: "As the app named it; null when it did not, or when an operator issued the token.",
    }),
    startedAt: t.expose("issuedAt", { type: "DateTime", description: "When it began." }),
    refreshedAt: t.expose("refreshedAt", {
      type: "DateTime",
      nullable: true,
      description: "When its tokens were last renewed.",
    }),
    expiresAt: t.expose("expiresAt", { type: "DateTime", description: "When it ends unless it is renewed." }),
    isCurrent: t.boolean({
      description: "Whether it is the one of this request.",
      resolve: ({ id }, _, { sessionId }) => id === sessionId,
    }),
  }),
});

builder.queryField("sessions", (t) =>
  t.field({
    type: [SessionRef],
    nullable: true,
    description: "Where you are signed in, the newest first, at most 100.",
    complexity: { field: 1, multiplier: SESSIONS_COMPLEXITY },
    resolve: (_root, _args, context) => openSessionsOf(context.reads.em, viewer(context).id, new Date()),
  }),
);

const EndSessionInput = builder.inputType("EndSessionInput", {
  description: "A session to end.",
  fields: (t) => ({
    idempotencyKey: t.field({ type: "UUID", required: true, description: "A new one for each new intention." }),
    sessionId: t.globalID({ required: true, for: SessionRef, description: "`Session.id`" }),
  }),
});

const EndSessionPayload = builder.objectRef<{ readonly ended: boolean }>("EndSessionPayload").implement({
  description: "The session has ended: its tokens count no more.",
  fields: (t) => ({
    sessions: t.field({
      type: [SessionRef],
      description: "Where you are still signed in.",
      complexity: { field: 1, multiplier: SESSIONS_COMPLEXITY },
      resolve: (_root, _args, context) => openSessionsOf(context.reads.em, viewer(context).id, new Date()),
    }),
  }),
});

builder.mutationField("endSession", (t) =>
  t.field({
    type: EndSessionPayload,
    nullable: true,
    description: "Ends one of your sessions at once, such as that of a lost phone.",
    args: { input: t.arg({ type: EndSessionInput, required: true, description: "The session." }) },
    errors: {
      types: [SessionNotFoundError, IdempotencyConflictError],
      union: { description: "That the session has ended, or why not." },
    },
    resolve(_, { input }, context) {
      const ending = { sessionId: input.sessionId.id, fieldPartnerId: viewer(context).id };
      return once(context, "endSession", input, async (tx) => {
        const isMine = await endSession(tx, { ...ending, reason: "ended_by_owner" }, new Date());
        if (isMine) return { done: { ended: true } };
        return { refusal: { code: "SESSION_NOT_FOUND", message: "There is no such session among yours." } };
      });
    },
  }),
);
