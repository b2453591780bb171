import { readFile } from "node:fs/promises";
import * as cases from "@collections/cases";
import { casesSchema } from "@collections/cases/schema";
import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { currency, parseJson } from "@collections/money";

const url = process.env["DATABASE_URL"];
if (!url) throw new Error("DATABASE_URL is not set. Example: postgres://localhost/examples");
const at = { url, schemas: [casesSchema] };
await migrate(at);
const database = await createDatabase(at);

const lenderId = "019aa3b7-f01c-7d22-a1b2-c3d4e5f60718"; // choose an id once, and use it in every run
const file = await readFile(new URL("loans.json", import.meta.url), "utf8");
const rows = parseJson(file, cases.AMOUNT_FIELDS) as unknown[]; // keeps the exact digits of amounts
const checked = cases.checkRows(rows, { currency: currency("INR"), country: "IN", language: "hi-IN" });
const good = checked.flatMap((one) => ("row" in one ? [one.row] : []));

const plans = await transaction(database.em(), async (tx) => {
  const [importId, now] = [newId(), new Date()];
  const loans = good.map(({ sourceLoanNumber }) => ({ lenderId, loan: sourceLoanNumber }));
  const current = new Map((await cases.lockCasesForImport(tx, loans)).map((one) => [one.sourceLoanNumber, one]));
  const plans = good.map((row) => {
    // Nothing is later, because this example books no payments. With a ledger, `paymentsAfter` and `reversalsAfter` return
    // what happened after the row's `outstandingAsOf`.
    const facts = { lenderId, importId, newCaseId: newId(), later: cases.NO_LATER_MONEY, holder: null, now };
    return { loan: row.sourceLoanNumber, ...cases.planRow(row, current.get(row.sourceLoanNumber), facts) };
  });
  // Rejected and unchanged rows have no events to send and no amounts to book.
  const changes = plans.flatMap((plan) => ("events" in plan ? [plan] : []));
  const casesOf = (some: typeof changes) => some.map(({ caseAfter }) => caseAfter);
  const made = casesOf(changes.filter(isNew));
  const replaced = changes.flatMap(({ replaces }) => replaces ?? []);
  const missed = await cases.insertCases(tx, made, replaced, now);
  if (missed.length > 0) throw new Error("Another import of the same loans runs at this moment. Run this job again.");
  cases.writeImportedCases(tx, casesOf(changes.filter((plan) => !isNew(plan))), now);
  const dated = plans.flatMap((plan) => (plan.outcome === "unchanged" && plan.changesBalance ? [plan.caseAfter] : []));
  cases.writeBalances(tx, dated);
  return plans;
});

for (const plan of plans) console.log(plan.loan, "errors" in plan ? `rejected: ${plan.errors[0]?.code}` : plan.outcome);
for (const one of checked) if ("errors" in one) console.log(one.sourceLoanNumber, "rejected:", one.errors[0]?.code);
await database.close();

function isNew({ outcome }: { outcome: cases.AppliedOutcome }): boolean {
  return outcome === "created" || outcome === "reopened";
}
