import { transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";

/** Runs `work` in a transaction. A dry run rolls it back, and returns the outcome all the same. */
export async function commitUnlessDryRun<Outcome>(
  em: EntityManager,
  dryRun: boolean,
  work: (tx: Tx) => Promise<Outcome>,
): Promise<Outcome> {
  if (!dryRun) return transaction(em, work);
  try {
    return await transaction(em, async (tx) => {
      throw new RolledBack(await work(tx));
    });
  } catch (error) {
    if (error instanceof RolledBack) return error.outcome as Outcome;
    throw error;
  }
}

/** Thrown to roll the transaction of a dry run back. It carries the outcome. */
class RolledBack extends Error {
  override readonly name = "RolledBack";
  readonly outcome: unknown;

  constructor(outcome: unknown) {
    super("The dry run is rolled back.");
    this.outcome = outcome;
  }
}
