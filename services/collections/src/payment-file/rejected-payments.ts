import { differencesOf, type RunKey } from "@collections/bookings";
import type { EntityManager } from "@collections/entities";
import type { RejectedPlace } from "../table-file/rejected-file.ts";
import { type ReadFile, rowsOf } from "../table-file/table-file.ts";

const READ_AT_A_TIME = 5_000;
const WRITTEN_AT_A_TIME = 1_000;
/** The most rejected rows that are written. Their reasons are in memory, because a run rejects them in another order. */
const MOST_WRITTEN = 100_000;

/** Writes the rejected rows of a run with their reasons, as an import does. Returns the path, or undefined if no row was rejected. */
export async function writeRejectedPayments(
  em: EntityManager,
  run: RunKey,
  file: ReadFile,
  place: RejectedPlace,
): Promise<string | undefined> {
  const reasons = await reasonsByLine(em, run);
  const rejected = await place.open({ ...file, bytes: 0 });
  try {
    if (reasons.size === 0) return undefined;
    let rows: { line: number; cells: readonly string[]; because: string }[] = [];
    for await (const { line, cells } of rowsOf(file)) {
      const because = reasons.get(line);
      if (because === undefined) continue;
      rows.push({ line, cells, because });
      if (rows.length < WRITTEN_AT_A_TIME) continue;
      await rejected.write(rejected.bytes, rows);
      rows = [];
    }
    await rejected.write(rejected.bytes, rows);
    return rejected.path;
  } finally {
    await rejected.close();
  }
}

async function reasonsByLine(em: EntityManager, run: RunKey): Promise<Map<number, string>> {
  const reasons = new Map<number, string>();
  let after: number | undefined;
  while (reasons.size < MOST_WRITTEN) {
    const page = await differencesOf(em, run, "rejected", { after, limit: READ_AT_A_TIME });
    for (const { position, faults } of page) reasons.set(position!, faults.map(({ detail }) => detail).join(" "));
    if (page.length < READ_AT_A_TIME) break;
    after = page.at(-1)!.place;
  }
  return reasons;
}
