import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Matches test files that take from ten seconds to a minute, because they start processes, browsers or commands, or run
 * hundreds of schedules.
 */
const LONG =
  /\/(tests\/(processes|cli|app)\/|killed-host|outside|delivery-contract|graphql\/chains|lender-guide|rest\/fuzz|invariants|.*\.browser\.)/;

/**
 * Starts long test files first. Otherwise one long file could run alone at the end while the other workers are idle. If
 * vitest has the times of an earlier run, it sorts by them first; after a fresh clone it has none.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { long = [], short = [] } = Object.groupBy(sorted, (file) => (LONG.test(file.moduleId) ? "long" : "short"));
    return [...long, ...short];
  }
}
