import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { type Command, startOperator } from "../processes/service-process.ts";
import { LENDER } from "../stage/original.ts";
import type { Stage } from "../stage/stage.ts";
import { underTraffic } from "../under-traffic.ts";

/**
 * The number of rows in the imported file. An import applies a thousand rows at a time, so it can be killed between two
 * thousands.
 */
const ROWS = 4_000;
const MOST_KILLS = 3;

export const killImport: Fault = {
  name: "kill-import",
  sentence:
    "SIGKILL ends an operator's import of a file, between and within its batches of a thousand rows, and the import is resumed.",
  rounds: { quick: 1, long: 10, legs: 1 },
  run: underTraffic({
    mustCount: ["hits"],
    async strike(stage) {
      const { model, folder, settings, random } = stage;
      const prefix = `FILE/${model.counts.strikes}-`;
      const loans = Array.from({ length: ROWS }, (_, index) => `${prefix}${index}`);
      const file = join(folder, `cases-${model.counts.strikes}.csv`);
      writeFileSync(file, fileOf(loans));
      const start = (): Command =>
        startOperator(settings, "case", "import", file, `--lender=${LENDER}`, "--yes", "--resume", "--json");
      for (let kill = 0; kill < MOST_KILLS; kill += 1) {
        if (await killOnceItHasBegun(stage, start(), prefix, random)) model.counts.hits += 1;
      }
      const { code, stdout, stderr } = await start().done;
      if (code !== 0)
        model.odd(`the import failed with exit code ${code}: ${stdout.slice(0, 500)}${stderr.slice(0, 500)}`);
      model.batches.push({ loans, isAcknowledged: code === 0 });
    },
  }),
};

function fileOf(loans: readonly string[]): string {
  const rows = loans.map((loan) => `${loan},Ravi Kumar,+919800000001,1000`);
  return `${["sourceLoanNumber,borrowerName,borrowerPhone,outstandingAmount", ...rows].join("\n")}\n`;
}

/**
 * Waits until the import command has applied further rows, and kills it at a random moment. Returns false if the
 * command ended before the kill.
 */
async function killOnceItHasBegun(
  { postgres }: Stage,
  command: Command,
  prefix: string,
  random: () => number,
): Promise<boolean> {
  const imported = async (): Promise<number> => {
    const { rows } = await postgres.pool.query<{ count: string }>(
      "select count(*) from cases.collection_case where starts_with(source_loan_number, $1)",
      [prefix],
    );
    return Number(rows[0]!.count);
  };
  let hasEnded = false;
  void command.done.then(() => (hasEnded = true));
  const before = await imported();
  while (!hasEnded && (await imported()) === before) await pause(20);
  await pause(random() * 60);
  command.kill();
  return (await command.done).code === null;
}
