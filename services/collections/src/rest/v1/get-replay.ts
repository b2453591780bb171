import { type Database, parsePublicId, publicId } from "@collections/database";
import { replayById } from "@collections/webhooks";
import { Problem } from "../../http/problem.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";

/** GET /api/v1/partner/webhooks/replays/{replayId} (contract: Deliveries): how far a replay has come. */
export async function getReplay(request: SignedRequest, { em }: Pick<Database, "em">): Promise<Answer> {
  const id = parsePublicId("replay", request.params["replayId"] ?? "");
  const replay = id === undefined ? undefined : await replayById(em(), request.lender.id, id);
  if (!replay)
    throw new Problem("REPLAY_NOT_FOUND", "There is no replay with this id; the answer that began it has it.");
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
