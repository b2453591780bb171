import { parsePublicId, publicId } from "@collections/database";
import { replayById, type ReplayState } from "@collections/webhooks";
import { z } from "zod";
import type { App } from "../../app.ts";
import type { Answer } from "../../http/answer.ts";
import { Problem } from "../../http/problem.ts";
import type { SignedRequest } from "../caller/signed-request.ts";
import { countAnswer, instantAnswer, keysOf, successAnswer } from "../endpoint/answer-parts.ts";
import type { Parameter, SignedEndpoint } from "../endpoint/endpoint.ts";
import { replayFields, replayStartedExample } from "./replay-deliveries.ts";

const REPLAY_STATES = { running: true, done: true, cancelled: true } satisfies Record<ReplayState, true>;

const replayAnswer = z
  .object({
    success: successAnswer,
    ...replayFields,
    state: z.enum(keysOf(REPLAY_STATES)).meta({ description: "The state of the replay." }),
    done: countAnswer("The number of events that the replay has processed so far."),
    createdAt: instantAnswer("When the replay was requested."),
    finishedAt: instantAnswer("When the replay ended; null while it runs.").nullable(),
  })
  .meta({ description: "The progress of a replay." });

const replayExample = {
  ...replayStartedExample,
  state: "running",
  done: 640,
  createdAt: "2026-12-03T06:30:00.000Z",
  finishedAt: null,
};

const REPLAY_ID: Parameter = {
  name: "replayId",
  in: "path",
  description: "The id of the replay, `replay_…`, from the answer that started it.",
  schema: { type: "string" },
  example: replayExample.replayId,
};

/** Shows the progress of a replay (contract: Deliveries). */
export const getReplay: SignedEndpoint = {
  name: "replays-get",
  method: "GET",
  path: "/api/v1/partner/webhooks/replays/{replayId}",
  operation: {
    id: "getReplay",
    tag: "Deliveries",
    summary: "Read the progress of a replay",
    description: "A restart of the service does not end a replay.",
    parameters: [REPLAY_ID],
    answers: {
      200: {
        description: "The progress of the replay.",
        schemas: { Replay: replayAnswer },
        examples: { "A running replay": replayExample },
      },
    },
    problems: ["REPLAY_NOT_FOUND"],
  },
  handle: answerReplay,
};

async function answerReplay(request: SignedRequest, { database }: App): Promise<Answer> {
  const id = parsePublicId("replay", request.params["replayId"] ?? "");
  const replay = id === undefined ? undefined : await replayById(database.em(), request.lender.id, id);
  if (!replay)
    throw new Problem(
      "REPLAY_NOT_FOUND",
      "There is no replay with this id; use the id in the answer that started the replay.",
    );
  return {
    status: 200,
    body: {
      success: true,
      replayId: publicId("replay", replay.id),
      state: replay.state,
      count: replay.total,
      done: replay.done,
      ratePerSecond: replay.ratePerSecond,
      createdAt: replay.createdAt,
      finishedAt: replay.finishedAt ?? null,
    },
  };
}
