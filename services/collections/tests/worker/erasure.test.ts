import { firstIdAt } from "@collections/database";
import { expect, test } from "vitest";
import { aLender, aRow, startTestService } from "../fixtures/fixture.ts";
import { startWorker } from "../../src/worker/worker.ts";

const DAY_MS = 86_400_000;

test("a worker erases the personal data of cases that ended longer ago than the lender's days", async () => {
  const { app, url } = await startTestService({ hasWorker: false });
  const lender = await aLender({ app, url }, { keepPersonalDataDays: 30 });
  await lender.importCases([aRow("LN-OLD"), aRow("LN-NEW"), aRow("LN-OPEN")]);
  const age = async (loan: string, days: number, isEnded: boolean) =>
    app.database.pool.query(
      `update cases.collection_case
       set id = overlay(id::text placing $2::text from 1 for 13)::uuid,
         status = case when $4 then 'withdrawn' else status end, closed_at = case when $4 then $3::timestamptz end
       where source_loan_number = $1`,
      [
        loan,
        firstIdAt(new Date(Date.now() - 400 * DAY_MS)).slice(0, 13),
        new Date(Date.now() - days * DAY_MS),
        isEnded,
      ],
    );
  await age("LN-OLD", 31, true);
  await age("LN-NEW", 29, true);
  await age("LN-OPEN", 0, false);

  const worker = await startWorker(app);
  const names = async () => {
    const { rows } = await app.database.pool.query<{ loan: string; name: string }>(
      "select source_loan_number as loan, borrower_name as name from cases.collection_case order by 1",
    );
    return Object.fromEntries(rows.map(({ loan, name }) => [loan, name]));
  };
  await expect.poll(names).toEqual({ "LN-NEW": "Ravi Kumar", "LN-OLD": "", "LN-OPEN": "Ravi Kumar" });
  await worker.stop(300_000);
});
