import { expect, test } from "vitest";
import { isLive, LINK_STATUSES, type LinkTrigger, nextLinkStatus } from "../index.ts";

const TRIGGERS: LinkTrigger[] = ["mint", "fail", "deliver", "supersede", "pay"];

test("nextLinkStatus allows exactly these transitions", () => {
  const moves = LINK_STATUSES.flatMap((status) =>
    TRIGGERS.flatMap((trigger) => {
      const next = nextLinkStatus(status, trigger);
      return next ? [`${status} + ${trigger} = ${next}`] : [];
    }),
  );
  expect(moves).toEqual([
    "requested + mint = minted",
    "requested + fail = unavailable",
    "requested + pay = paid",
    "minted + deliver = sent",
    "minted + supersede = superseded",
    "minted + pay = paid",
    "sent + supersede = superseded",
    "sent + pay = paid",
    "unavailable + pay = paid",
    "superseded + pay = paid",
  ]);
});

test("only minted and sent links are live", () => {
  expect(LINK_STATUSES.filter((status) => isLive({ status }))).toEqual(["minted", "sent"]);
});
