import { storedLoanNumber } from "@collections/cases";
import { playScene, SCENES } from "@collections/flows";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem, validationProblem } from "../../http/problem.ts";
import { idOfRequest } from "../caller/same-request.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { countAnswer, loanAnswer, successAnswer, warningsAnswer } from "../endpoint/answer-parts.ts";
import type { SignedEndpoint } from "../endpoint/endpoint.ts";
import { fieldFaults, unknownFieldWarnings, type Warning } from "../reading/field-faults.ts";
import { jsonObject } from "../reading/json-body.ts";
import { LOAN_CHARACTERS, text } from "../reading/wire-types.ts";
import { couldBeLoan, loanNotFound } from "./loan-in-path.ts";

/** The scene to play (contract: POST sandbox/play). */
const playBody = z.object({
  loan: text(LOAN_CHARACTERS).meta({ description: "One of your loan numbers." }),
  scene: z
    .enum(SCENES, {
      error: ({ input }) => (input === undefined ? "is required" : `takes one of ${SCENES.join(", ")}`),
    })
    .meta({ description: "What happens to the loan." }),
});

const sceneEventAnswer = z
  .object({
    eventId: z.string().meta({ description: "The `eventId` of the event, `evt_…`." }),
    kind: z.string().meta({ description: "The kind of the event." }),
    sequence: countAnswer("The event's number in the sequence of the loan."),
  })
  .meta({ description: "An event of the loan." });

const playedAnswer = z
  .object({
    success: successAnswer,
    loan: loanAnswer,
    scene: z.enum(SCENES).meta({ description: "The scene that was played." }),
    stoppedBecause: z
      .string()
      .nullable()
      .meta({ description: "Why the scene ended early, in words; null if it was played to its end." }),
    events: z
      .array(sceneEventAnswer)
      .meta({ description: "The events of the loan from the start to the end of the scene, in their sequence." }),
    warnings: warningsAnswer,
  })
  .meta({ description: "A scene that was played." });

const playedExample = {
  success: true,
  loan: "LN-2040",
  scene: "visit",
  stoppedBecause: null,
  events: [
    { eventId: "evt_019aa3bb7d887e55a0b1c2d3e4f50621", kind: "case.assigned", sequence: 2 },
    { eventId: "evt_019aa3bb7d887e55a0b1c2d3e4f50622", kind: "visit.started", sequence: 3 },
    { eventId: "evt_019aa3bb7d887e55a0b1c2d3e4f50623", kind: "visit.completed", sequence: 4 },
  ],
};

/** Plays a scene on a loan of the lender, in a sandbox (contract: POST sandbox/play). */
export const playSandbox: SignedEndpoint = {
  name: "sandbox-play",
  method: "POST",
  path: "/api/v1/partner/sandbox/play",
  operation: {
    id: "playSandbox",
    tag: "Sandbox",
    summary: "Play a scene on a loan, to see its events",
    description: [
      "Plays what field partners, the borrower and your gateway would do on one of your loans, so that your receiver gets the",
      "events. A case that no field partner of the sandbox has is first assigned to one. For a link, the service calls your",
      "mint endpoint. Each signed request plays the scene anew. Outside a sandbox the answer is 403 `SANDBOX_ONLY`.",
    ].join("\n"),
    request: {
      schemas: { SceneToPlay: playBody },
      required: true,
      examples: { "A visit": { loan: "LN-2040", scene: "visit" } },
    },
    answers: {
      200: {
        description: "The scene was played. `stoppedBecause` tells if it ended early, for example without a link.",
        schemas: { PlayedScene: playedAnswer, SceneEvent: sceneEventAnswer },
        examples: { "A visit": playedExample },
      },
    },
    problems: [
      "SANDBOX_ONLY",
      "LOAN_NOT_FOUND",
      "SCENE_NOT_PLAYABLE",
      "REQUIRED",
      "WRONG_TYPE",
      "TOO_LONG",
      "INVALID_TEXT",
      "INVALID_ENUM",
    ],
  },
  handle: answerScene,
};

async function answerScene(request: SignedRequest, { config, database }: App): Promise<Answer> {
  const { environment, isSandbox, mintTimeoutMs } = config;
  if (!isSandbox) throw sandboxOnly(environment);
  const { loan: given, scene, warnings } = readBody(request);
  const { lender } = request;
  if (!couldBeLoan(given)) throw loanNotFound();
  const loan = await storedLoanNumber(database.em(), lender.id, given);
  const play = { lender, loan, scene, playId: idOfRequest(request) };
  const outcome = await playScene({ database, environment, mintTimeoutMs }, play);
  if (outcome.kind === "loan_not_found") throw loanNotFound();
  if (outcome.kind === "not_playable") throw new Problem("SCENE_NOT_PLAYABLE", outcome.detail);
  const { stoppedBecause, events } = outcome;
  return {
    status: 200,
    body: { success: true, loan, scene, stoppedBecause, events, ...(warnings.length > 0 && { warnings }) },
  };
}

function readBody(request: SignedRequest): z.infer<typeof playBody> & { warnings: Warning[] } {
  const body = jsonObject(request, new Set());
  const parsed = playBody.safeParse(body);
  const warnings = unknownFieldWarnings(body, Object.keys(playBody.shape));
  if (parsed.success) return { ...parsed.data, warnings };
  throw validationProblem(fieldFaults(parsed.error, body), warnings.length > 0 ? { warnings } : {});
}

function sandboxOnly(environment: string): Problem {
  return new Problem(
    "SANDBOX_ONLY",
    `This service is not a sandbox (ENVIRONMENT is ${environment}). Send the call to the sandbox of your operator.`,
  );
}
