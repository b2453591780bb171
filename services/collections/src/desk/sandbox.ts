import { caseByLoan, storedLoanNumber } from "@collections/cases";
import { newId, transaction } from "@collections/database";
import type { Database } from "@collections/entities";
import { playScene, type Scene, type SceneOutcome, SCENES } from "@collections/flows";
import { type Lender, recordAct } from "@collections/lenders";
import type { DeskOutcome } from "./acts.ts";
import { chosenLender } from "./chosen-lender.ts";
import { type ConnectionActing, lenderIn, whyTooOften } from "./connection/acting.ts";
import { eventWords } from "./words/act-words.ts";

/** The parts that play a scene. */
export interface SandboxActing {
  readonly database: Pick<Database, "em">;
  readonly environment: string;
  readonly isSandbox: boolean;
  readonly mintTimeoutMs: number;
}

/** The words of each scene. `events` are the events that it causes besides those of an assignment. */
const SCENE_WORDS: Readonly<Record<Scene, { readonly about: string; readonly events: string }>> = {
  visit: { about: "A visit that finds nobody at home", events: "visit.started, visit.completed" },
  promise: { about: "A visit that ends with a promise for tomorrow", events: "visit.started, visit.completed" },
  "promise-kept": {
    about: "A promise, a payment of the promised amount, and the decision",
    events: "visit.started, visit.completed, payment.collected, promise.kept",
  },
  "promise-broken": {
    about: "A promise without a payment, and the decision",
    events: "visit.started, visit.completed, promise.broken",
  },
  dispute: {
    about: "A visit that ends with a dispute, and the release of the case",
    events: "visit.started, visit.completed, case.held, case.released",
  },
  link: {
    about: "A visit with a link that the lender's mint endpoint makes",
    events: "visit.started, payment_link.created, payment_link.delivered or .undelivered, visit.completed",
  },
  "link-paid": {
    about: "A visit with a link, and the confirmation of its payment",
    events:
      "visit.started, payment_link.created, payment_link.delivered or .undelivered, payment.collected, visit.completed",
  },
  reversal: { about: "A payment and its reversal", events: "payment.collected, payment.reversed" },
  reopening: {
    about: "A payment of all that is owed, and its reversal",
    events: "payment.collected, case.closed, payment.reversed, case.reopened",
  },
  reassignment: {
    about: "The case changes from one field partner to another",
    events: "case.unassigned, case.assigned",
  },
};

/** Why no scene is played outside a sandbox. */
export function whyNoScene({ isSandbox, environment }: SandboxActing): string | undefined {
  if (isSandbox) return undefined;
  return `Scenes are played only in a sandbox, and ENVIRONMENT is ${environment}.`;
}

/** Plays a scene on a loan, and records it in the audit. The caller has checked that this is a sandbox. */
export async function auditedScene(
  { database, environment, mintTimeoutMs }: SandboxActing,
  { lender, loan, scene }: { readonly lender: Lender; readonly loan: string; readonly scene: Scene },
): Promise<SceneOutcome> {
  const em = () => database.em();
  if (!(await caseByLoan(em(), lender.id, loan))) return { kind: "loan_not_found" };
  const audit = (act: string, data: object) =>
    transaction(em(), async (tx) => recordAct(tx, { lenderId: lender.id, act, data: { loan, scene, ...data } }));
  // A scene has several transactions and calls, so the audit has an entry before them and one after them.
  await audit("sandbox.play_started", {});
  const outcome = await playScene({ database, environment, mintTimeoutMs }, { lender, loan, scene, playId: newId() });
  if (outcome.kind !== "played") return outcome;
  const { stoppedBecause, events } = outcome;
  await audit("sandbox.played", { stoppedBecause, events: events.length });
  return outcome;
}

/** Returns the lenders to choose from, one of them, and the scenes. */
export async function scenesOfChosen({ lenders }: ConnectionActing, code: string | undefined) {
  const { lenderCodes, lender } = chosenLender(await lenders(), code);
  const scenes = SCENES.map((scene) => ({ scene, ...SCENE_WORDS[scene] }));
  return { lenderCodes, lenderCode: lender?.code, scenes };
}

type Played = Extract<SceneOutcome, { kind: "played" }>;

/** A scene that was played, with the words of its events. */
type PlayedInWords = Omit<Played, "events"> & {
  readonly loan: string;
  readonly events: readonly (Played["events"][number] & { readonly what: string })[];
};

/** Plays a scene on a loan, for a page. */
export async function playFromDesk(
  acting: ConnectionActing & SandboxActing,
  {
    lenderCode,
    loan: given,
    scene: name,
  }: { readonly lenderCode: string; readonly loan: string; readonly scene: string },
): Promise<Exclude<DeskOutcome, { kind: "done" }> | PlayedInWords> {
  const whyNot = whyNoScene(acting);
  if (whyNot !== undefined) return refused(whyNot);
  const lender = await lenderIn(acting, lenderCode);
  if (!lender) return refused("There is no such lender.");
  const scene = SCENES.find((one) => one === name);
  if (!scene) return refused("Choose a scene.");
  const tooOften = await whyTooOften(acting, lender, "sandbox-play");
  if (tooOften !== undefined) return refused(tooOften);
  const loan = await storedLoanNumber(acting.em(), lender.id, given.trim());
  const outcome = await auditedScene(acting, { lender, loan, scene });
  if (outcome.kind === "loan_not_found")
    return refused(`There is no case of the loan ${given.trim()}. Import it first.`);
  if (outcome.kind !== "played") return refused(outcome.detail);
  return { ...outcome, loan, events: outcome.events.map((event) => ({ ...event, what: eventWords(event.kind) })) };
}

function refused(detail: string) {
  return { kind: "refused" as const, detail };
}
