import { expect, test } from "vitest";
import { NO_LOG } from "../../tests/trial.ts";
import { NotMadeLog } from "./not-made-log.ts";

test("logs at once the first attempt that could not be made, and the next ones together once a minute", () => {
  const lines: object[] = [];
  const log = new NotMadeLog({ ...NO_LOG, error: (facts) => void lines.push(facts) });
  for (const at of [1_000, 2_000, 30_000, 60_999]) log.add({ eventId: at }, at);
  expect(lines).toEqual([{ eventId: 1_000, attempts: 1 }]);
  log.add({ eventId: 61_000 }, 61_000);
  log.add({ eventId: 61_001 }, 61_001);
  expect(lines.slice(1)).toEqual([{ eventId: 61_000, attempts: 4 }]);
});
