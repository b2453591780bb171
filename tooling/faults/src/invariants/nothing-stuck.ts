import type { Invariant } from "./evidence.ts";
import { unsettled } from "./unsettled.ts";

export const nothingStuck: Invariant = {
  name: "no job, delivery, message or replay is stuck",
  violations: ({ rows }) => unsettled(rows),
};
