import type { Invariant } from "./evidence.ts";

/**
 * Reports the problems that the clients noticed during the fault: answers that the contract does not allow, and
 * failures to recover.
 */
export const answersFair: Invariant = {
  name: "every answer follows the contract, and the service recovers by itself",
  violations: async ({ model }) => [...model.oddities],
};
