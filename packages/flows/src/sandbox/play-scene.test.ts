import { newId, query, statement } from "@collections/database";
import { expect, test } from "vitest";
import { aCase, aLender, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { playScene } from "./play-scene.ts";

const sent: string[] = [];
const database = await flowsDatabase({ onStatement: ({ name }) => void sent.push(name ?? "") });
const DEPS = { database, environment: ENVIRONMENT, mintTimeoutMs: 1_000 };

test("a repeat plays the scene after an error of the first request", async () => {
  const { lender } = await aLender(database);
  const { sourceLoanNumber: loan } = await aCase(database, lender);
  const request = { lender, loan, scene: "reassignment", playId: newId() } as const;
  const first = await playScene(DEPS, request);
  expect(await playScene(DEPS, request)).toEqual(first);

  await query(database.em(), playingAgain, [request.playId]);
  sent.length = 0;
  const repeat = playScene(DEPS, request);
  // The repeat has read twice that the first request still plays.
  await expect.poll(() => sent.filter((name) => name.includes("recall-mutation")).length).toBeGreaterThan(1);
  await query(database.em(), forgotten, [request.playId]);
  const again = {
    kind: "played",
    stoppedBecause: null,
    events: [{ kind: "case.unassigned" }, { kind: "case.assigned" }],
  };
  expect(await repeat).toMatchObject(again);
});

/** As while the first request plays the scene. */
const playingAgain = statement(
  "play-scene-test.playing",
  `update field_partners.mutation_result set result = '"playing"' where key = $1`,
);

/** As after an error of the first request. */
const forgotten = statement("play-scene-test.forgotten", "delete from field_partners.mutation_result where key = $1");
