import { isUnavailable } from "@collections/database";
import type { CaseChange, CaseChangeKind } from "@collections/flows";
import { ClientError } from "../plumbing/client-error.ts";
import { builder } from "../plumbing/builder.ts";
import { type Context, resetReads, viewer } from "../plumbing/context.ts";
import { encodeId } from "../plumbing/global-id.ts";
import { openStream } from "../plumbing/open-stream.ts";
import { CaseRef } from "./case.ts";

/** A hint for the app: what has changed, and on which case. */
type CaseHint = { readonly kind: CaseChangeKind; readonly caseId: string } | { readonly kind: "sync" };

const SYNC: CaseHint = { kind: "sync" };
/** The maximum number of hints that wait for a slow client. If there are more, a single SYNC replaces all of them. */
const MAX_PENDING = 100;

const ChangeKindRef = builder.enumType("CaseChangeKind", {
  description: "The kind of a change. Later versions may have more values.",
  values: {
    SYNC: { value: "sync", description: "Changes may have been missed: call `sync`. Always sent first." },
    ASSIGNED: { value: "assigned", description: "The case was assigned to you." },
    UNASSIGNED: { value: "unassigned", description: "The case is no longer yours." },
    PAYMENT: { value: "payment", description: "A payment was booked on the case." },
    REVERSAL: { value: "reversal", description: "A payment of the loan was reversed." },
    STATUS: {
      value: "status",
      description: "The status may have changed: work has begun, or the case was held, released, ended or reopened.",
    },
  } satisfies Record<string, { value: CaseHint["kind"]; description: string }>,
});

const CaseChangeRef = builder.objectRef<CaseHint>("CaseChange").implement({
  description: "A change of a case of yours.",
  fields: (t) => ({
    kind: t.expose("kind", { type: ChangeKindRef, description: "What has changed." }),
    caseId: t.id({
      nullable: true,
      description: "The `id` of the case; null for SYNC.",
      resolve: (hint) => (hint.kind === "sync" ? null : encodeId("Case", hint.caseId)),
    }),
    case: t.field({
      type: CaseRef,
      nullable: true,
      description: "The case as it is now; null if it is no longer yours, and for SYNC.",
      resolve: (hint, _, { reads }) => (hint.kind === "sync" ? null : reads.ownCase.load(hint.caseId)),
    }),
  }),
});

builder.subscriptionField("caseChanged", (t) =>
  t.field({
    type: CaseChangeRef,
    description:
      "Reports changes of your cases: assignments, the loss of a case, payments, reversals and changes of status. " +
      "Begins with SYNC, also after each reconnect. A change is reported at most once, and is not stored.",
    subscribe: (_, __, context) => watchCases(context),
    resolve: (hint) => hint,
  }),
);

/** Yields SYNC at once, and then a hint for each change of the field partner's cases. */
function watchCases(context: Context): AsyncIterable<CaseHint> {
  /** The hints that the client has not received yet. Equal hints are sent once. */
  const pending = new Map([["sync", SYNC]]);
  return openStream<CaseHint>(context, {
    listen(wake) {
      const sync = (): void => {
        pending.clear();
        pending.set("sync", SYNC);
        wake();
      };
      const onChange = ({ kind, caseId }: CaseChange): void => {
        if (pending.has("sync")) return;
        if (pending.size >= MAX_PENDING) return sync();
        pending.set(`${kind} ${caseId}`, { kind, caseId });
        wake();
      };
      return context.watchedCases.on(viewer(context).id, onChange, sync);
    },
    async step(push) {
      // Read the session at each tick, even if there is no hint, so that the end of the session ends the stream.
      let isSignedIn = await signedInUnlessUnavailable(context);
      for (let [next] = pending; isSignedIn === true && next; [next] = pending) {
        const [key, hint] = next;
        pending.delete(key);
        resetReads(context);
        // `push` resolves when the client asks for the next hint. So no resolver of this hint is running when the next
        // step replaces the loaders.
        await push(hint);
        isSignedIn = await signedInUnlessUnavailable(context);
      }
      if (isSignedIn === false) throw new ClientError("UNAUTHENTICATED", "The session has ended: sign in.");
      return true;
    },
  });
}

/** Returns undefined while the database is unavailable: the stream stays open, and the hints wait for the next tick. */
async function signedInUnlessUnavailable(context: Context): Promise<boolean | undefined> {
  try {
    return await context.isStillSignedIn();
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}
