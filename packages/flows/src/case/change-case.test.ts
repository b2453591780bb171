import { assignedWorkOf } from "@collections/cases";
import { transaction } from "@collections/database";
import { suspendFieldPartner } from "@collections/field-partners";
import { sessionsWaitingForLocks } from "@collections/testing";
import { expect, test } from "vitest";
import { aCase, aFieldPartner, aLender, currentCase, ENVIRONMENT, flowsDatabase } from "../../tests/fixture.ts";
import { assignCase } from "./change-case.ts";

const database = await flowsDatabase();
const { lender } = await aLender(database);

function assign(loan: string, fieldPartnerId: string) {
  return assignCase(database.em(), { lender, loan, reason: null, fieldPartnerId }, ENVIRONMENT);
}

async function someLoans(count: number): Promise<string[]> {
  const cases = await Promise.all(Array.from({ length: count }, () => aCase(database, lender, {})));
  return cases.map(({ sourceLoanNumber }) => sourceLoanNumber);
}

test("an assignment to a field partner whose suspension is not committed yet waits for the commit and is refused", async () => {
  const [{ id }, [loan]] = [await aFieldPartner(database), await someLoans(1)];
  let assigning: ReturnType<typeof assign> | undefined;
  await transaction(database.em(), async (tx) => {
    await suspendFieldPartner(tx, id);
    await tx.flush();
    assigning = assign(loan!, id);
    await expect.poll(() => sessionsWaitingForLocks(database.pool)).toBeGreaterThan(0);
  });
  expect(await assigning).toEqual({ kind: "field_partner_suspended" });
  expect(await currentCase(database, lender, loan!)).toMatchObject({ assignedFieldPartnerId: null, status: "new" });
});

test("a suspension that is concurrent with assignments counts exactly the cases that were assigned before the suspension", async () => {
  for (let round = 0; round < 10; round += 1) {
    const [{ id }, loans] = [await aFieldPartner(database), await someLoans(8)];
    const suspending = transaction(database.em(), async (tx) => {
      await suspendFieldPartner(tx, id);
      return assignedWorkOf(tx, id);
    });
    const outcomes = await Promise.all(loans.map((loan) => assign(loan, id)));
    const done = outcomes.filter(({ kind }) => kind === "done").length;
    expect(await suspending).toEqual({ cases: done, promises: 0 });
    expect(await assignedWorkOf(database.em(), id)).toEqual({ cases: done, promises: 0 });
    const refused = outcomes.filter(({ kind }) => kind !== "done");
    expect(refused).toEqual(refused.map(() => ({ kind: "field_partner_suspended" })));
  }
});
