import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { actingAs, currentActor } from "./actor.ts";

test("work that runs at the same time has the actor that it was started with", async () => {
  const asked = ["operator:asha", "operator:ravi"] as const;
  const found = await Promise.all(
    asked.map((actor) =>
      actingAs(actor, async () => {
        await sleep(5);
        return currentActor();
      }),
    ),
  );
  expect(found).toEqual(asked);
});

test("the innermost actor counts, and outside of actingAs it is the service", () => {
  expect(currentActor()).toBe("service");
  const found = actingAs("operator:asha", () => [actingAs("service", currentActor), currentActor()]);
  expect(found).toEqual(["service", "operator:asha"]);
});
