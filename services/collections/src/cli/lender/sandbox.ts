import { type Scene, SCENES } from "@collections/flows";
import { Argument, Command } from "commander";
import { auditedScene, whyNoScene } from "../../desk/sandbox.ts";
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
  const acting = { database, environment, isSandbox, mintTimeoutMs };
  const whyNot = whyNoScene(acting);
  if (whyNot !== undefined) throw new Refusal("SANDBOX_ONLY", `${whyNot} Run the command where the sandbox runs.`);
  const lender = await lenderNamed(em(), code);
  const loan = await loanNamed(em(), lender, given);
  const outcome = await auditedScene(acting, { lender, loan, scene });
  if (outcome.kind === "loan_not_found") throw notFound("loan", given);
  if (outcome.kind === "not_playable") throw new Refusal("SCENE_NOT_PLAYABLE", outcome.detail);
  const { stoppedBecause, events } = outcome;
  const lines = table(events.map(({ sequence, kind, eventId }) => [`#${sequence}`, kind, eventId]));
  const end = stoppedBecause === null ? `Played ${scene} on ${loan}.` : `${scene} ended early: ${stoppedBecause}`;
  answer({ lenderCode: lender.code, loan, scene, stoppedBecause, events }, `${lines}\n${end}`.trim());
}
