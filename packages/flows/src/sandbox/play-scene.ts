import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Case, caseByLoan } from "@collections/cases";
import { publicId, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import {
  claimMutation,
  type MutationKey,
  replaceMutationResult,
  saveMutationResult,
} from "@collections/field-partners";
import { lenderById, type LenderProfile } from "@collections/lenders";
import { eventsOf } from "@collections/webhooks";
import { fieldWorkRefusal, type FieldWorkRefusal } from "../request/field-work.ts";
import { play, type Scene } from "./scenes.ts";
import { sandboxVisitors, SceneStopped, type Stage, type Visitors } from "./stage.ts";

/** The dependencies of a scene. */
export interface SceneDeps {
  readonly database: Pick<Database, "em">;
  /** The deployment's name (contract: Health response, `env`). */
  readonly environment: string;
  /** The time limit for a mint call (contract: Limits, mint-link response time). */
  readonly mintTimeoutMs: number;
}

/** A scene to play on a lender's loan. */
export interface SceneRequest {
  readonly lender: LenderProfile;
  readonly loan: string;
  readonly scene: Scene;
  /** A UUID. A repeat with the same id plays nothing and gets the outcome of the first request. */
  readonly playId: string;
}

/** An event that a scene caused. */
export interface SceneEvent {
  /** The `eventId` as it stands in the event, `evt_…`. */
  readonly eventId: string;
  readonly kind: string;
  readonly sequence: number;
}

/** The outcome of `playScene`. After a refusal nothing was changed. */
export type SceneOutcome =
  | {
      readonly kind: "played";
      /** Why the scene ended early, for the lender's developer. Null if it was played to its end. */
      readonly stoppedBecause: string | null;
      /** The events of the loan from the start to the end of the scene, in their sequence. */
      readonly events: readonly SceneEvent[];
    }
  | { readonly kind: "loan_not_found" }
  | { readonly kind: "not_playable"; readonly detail: string };

/**
 * Plays a scene on a lender's loan, so that the lender's receiver gets its events. The visits are made by field partners
 * of the sandbox; all else runs through the flows that the service uses. The caller checks that this is a sandbox.
 *
 * @example
 * const deps = { database, environment: "sandbox", mintTimeoutMs: 10_000 };
 * const outcome = await playScene(deps, { lender, loan: "LN-1001", scene: "link-paid", playId: newId() });
 * if (outcome.kind === "played") console.log(outcome.events.map(({ kind }) => kind));
 */
export async function playScene(deps: SceneDeps, request: SceneRequest): Promise<SceneOutcome> {
  const waitUntil = performance.now() + REPEAT_WAIT_MS;
  for (;;) {
    const claim = await claimScene(deps, request);
    if (claim.kind === "refused") return claim.outcome;
    if (claim.kind === "new") return playClaimed(deps, request, claim);
    if (claim.result !== PLAYING) return claim.result;
    // Another request plays the scene. If its process has died, the scene has no further events.
    if (performance.now() >= waitUntil) return { kind: "played", stoppedBecause: NOT_ENDED, events: [] };
    await sleep(POLL_MS);
  }
}

/** How long a repeat waits for the end of the scene. */
const REPEAT_WAIT_MS = 30_000;
const POLL_MS = 200;
const NOT_ENDED = "The first request of this scene has not ended. The list of deliveries shows its events.";

async function playClaimed(
  deps: SceneDeps,
  request: SceneRequest,
  { theCase, visitors }: Extract<SceneClaim, { kind: "new" }>,
): Promise<SceneOutcome> {
  const { lender, loan } = request;
  const stage: Stage = { ...deps, ...request, caseId: theCase.id, visitors };
  const stoppedBecause = await play(stage, request.scene).then(
    () => null,
    (error: unknown) => reasonOf(deps, keyOf(request, visitors), error),
  );
  const events = (await eventsOf(deps.database.em(), lender.id, loan))
    .filter(({ sequence }) => sequence > theCase.sequence)
    .map(({ eventId, kind, sequence }) => ({ eventId: publicId("evt", eventId), kind, sequence: Number(sequence) }));
  const played: SceneOutcome = { kind: "played", stoppedBecause, events };
  await transaction(deps.database.em(), async (tx) => saveMutationResult(tx, keyOf(request, visitors), played));
  return played;
}

type SceneClaim =
  | { readonly kind: "new"; readonly theCase: Case; readonly visitors: Visitors }
  | { readonly kind: "repeat"; readonly result: SceneOutcome | typeof PLAYING }
  | { readonly kind: "refused"; readonly outcome: SceneOutcome };

/** Stored from the start of a scene to its end. */
const PLAYING = "playing";

/** Claims the id of the request and checks the loan. A refused request can be sent again. */
async function claimScene({ database }: SceneDeps, request: SceneRequest): Promise<SceneClaim> {
  const { lender, loan, scene } = request;
  return transaction(database.em(), async (tx): Promise<SceneClaim> => {
    const visitors = await sandboxVisitors(tx);
    const key = keyOf(request, visitors);
    const inputHash = createHash("sha256")
      .update(JSON.stringify([lender.id, loan, scene]))
      .digest();
    const claim = await claimMutation(tx, { ...key, inputHash });
    if (claim.kind === "repeat") return { ...claim, result: claim.result as SceneOutcome };
    const theCase = claim.kind === "new" ? await caseByLoan(tx, lender.id, loan) : null;
    // The lender of a request may come from a cache, in which it is not suspended yet.
    const detail = theCase && whyNotPlayable(theCase, (await lenderById(tx, lender.id))!);
    if (!theCase || detail !== undefined) {
      if (claim.kind === "new") replaceMutationResult(tx, key, undefined);
      return {
        kind: "refused",
        outcome: typeof detail === "string" ? { kind: "not_playable", detail } : { kind: "loan_not_found" },
      };
    }
    saveMutationResult(tx, key, PLAYING);
    return { kind: "new", theCase, visitors };
  });
}

function keyOf({ playId: key }: SceneRequest, [{ id: fieldPartnerId }]: Visitors): MutationKey {
  return { fieldPartnerId, mutation: "playScene", key };
}

/** Returns why a scene ended early. After any other error, a repeat of the request plays the scene again. */
async function reasonOf({ database }: SceneDeps, key: MutationKey, error: unknown): Promise<string> {
  if (error instanceof SceneStopped) return error.message;
  await transaction(database.em(), async (tx) => replaceMutationResult(tx, key, undefined));
  throw error;
}

function whyNotPlayable(theCase: Case, lender: LenderProfile): string | undefined {
  // The scene assigns an unassigned case.
  const assigned = { ...theCase, status: theCase.status === "new" ? "assigned" : theCase.status } as const;
  const refusal = fieldWorkRefusal(
    { ...assigned, assignedFieldPartnerId: theCase.assignedFieldPartnerId ?? theCase.id },
    lender,
    new Date(),
  );
  if (refusal !== undefined) return REMEDIES[refusal];
  if (theCase.outstandingMinor > 0n) return undefined;
  return "Nothing is owed on the case: import the loan with a higher outstandingAmount.";
}

const REMEDIES: Readonly<Record<FieldWorkRefusal, string>> = {
  ENDED: "The case has ended: import the loan with an outstandingAmount above 0, which opens it again.",
  ON_HOLD: 'The case is on hold: release it with an import row {"sourceLoanNumber": …, "action": "release"}.',
  NOT_ASSIGNED: "The case has no field partner.",
  DO_NOT_CONTACT: "The borrower must not be contacted yet: import the loan without doNotContactUntil.",
  LENDER_SUSPENDED: "The lender is suspended: ask the operator of the sandbox to resume it.",
};
