import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take from ten seconds to a minute: processes, browsers, commands, schedules by the hundred. */
const LONG =
  /\/(tests\/(processes|cli|app)\/|killed-host|outside|delivery-contract|graphql\/chains|lender-guide|rest\/fuzz|invariants|.*\.browser\.)/;

/**
 * Begins with what takes long, so that at the end no file runs alone while the other workers have nothing left. Where
 * an earlier run has left its times vitest goes by them; a fresh checkout has none.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const { long = [], short = [] } = Object.groupBy(sorted, (file) => (LONG.test(file.moduleId) ? "long" : "short"));
    return [...long, ...short];
  }
}
