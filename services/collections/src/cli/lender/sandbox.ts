import { caseByLoan } from "@collections/cases";
import { newId, transaction } from "@collections/database";
import { playScene, type Scene, SCENES } from "@collections/flows";
import { recordAct } from "@collections/lenders";
import { Argument, Command } from "commander";
import { notFound, Refusal } from "../terminal/refusal.ts";
import { answer, lenderNamed, loanNamed, type Operator, table, withDatabase } from "../terminal/with-database.ts";

/** `sandbox play`: plays what happens to a loan, so that the lender's receiver gets the events. */
export function sandboxCommand(): Command {
  const group = new Command("sandbox").description("Play what happens to a loan, in a sandbox.");
  group
    .command("play")
    .argument("<lender>", "the lender's code")
    .argument("<loan>", "the lender's loan number")
    .addArgument(new Argument("<scene>", "what happens to the loan").choices(SCENES))
    .description("Play a scene on a loan, so that the lender's receiver gets its events.")
    .addHelpText(
      "after",
      `
Field partners of the sandbox, "Sandbox Visitor 1" and "Sandbox Visitor 2", play the scene. If somebody else has the case, it is
first assigned to one of them. A link is minted at the lender's endpoint, by the worker of a running service. Each run plays the
scene anew. The command is refused unless ENVIRONMENT is a sandbox.

Examples:
  pnpm collections sandbox play ACME LN-1001 visit
  pnpm collections sandbox play ACME LN-1001 link-paid`,
    )
    .action((code: string, loan: string, scene: Scene) =>
      withDatabase((operator) => playFor(operator, { code, loan, scene })),
    );
  return group;
}

interface NamedScene {
  readonly code: string;
  readonly loan: string;
  readonly scene: Scene;
}

async function playFor({ config, database, em }: Operator, { code, loan: given, scene }: NamedScene): Promise<void> {
  const { environment, isSandbox, mintTimeoutMs } = config;
  if (!isSandbox) {
    throw new Refusal(
      "SANDBOX_ONLY",
      `Scenes are played only in a sandbox, and ENVIRONMENT is ${environment}. Run the command where the sandbox runs.`,
    );
  }
  const lender = await lenderNamed(em(), code);
  const loan = await loanNamed(em(), lender, given);
  if (!(await caseByLoan(em(), lender.id, loan))) throw notFound("loan", given);
  const audit = (act: string, data: object) =>
    transaction(em(), async (tx) => recordAct(tx, { lenderId: lender.id, act, data: { loan, scene, ...data } }));
  // A scene has several transactions and calls, so the audit has an entry before them and one after them.
  await audit("sandbox.play_started", {});
  const outcome = await playScene({ database, environment, mintTimeoutMs }, { lender, loan, scene, playId: newId() });
  if (outcome.kind === "loan_not_found") throw notFound("loan", given);
  if (outcome.kind === "not_playable") throw new Refusal("SCENE_NOT_PLAYABLE", outcome.detail);
  const { stoppedBecause, events } = outcome;
  await audit("sandbox.played", { stoppedBecause, events: events.length });
  const lines = table(events.map(({ sequence, kind, eventId }) => [`#${sequence}`, kind, eventId]));
  const end = stoppedBecause === null ? `Played ${scene} on ${loan}.` : `${scene} ended early: ${stoppedBecause}`;
  answer({ lenderCode: lender.code, loan, scene, stoppedBecause, events }, `${lines}\n${end}`.trim());
}
