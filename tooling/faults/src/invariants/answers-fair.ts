import type { Invariant } from "./evidence.ts";

/** Collected while the fault lasted: what was answered other than the contract says, and what did not recover. */
export const answersFair: Invariant = {
  name: "every answer is one of the contract, and the service works again by itself",
  violations: async ({ model }) => [...model.oddities],
};
