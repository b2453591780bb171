import { randomBytes } from "node:crypto";
import type { EntityManager } from "@collections/entities";
import { importCases, onboardLender } from "@collections/flows";
import { createVault, type Lender, lenderByCode } from "@collections/lenders";
import { AmountLiteral } from "@collections/money";
import { parseAllowList } from "@collections/outbound";

/** Returns this example's lender, which has two loans. The first run creates the lender and the loans. */
export async function acmeWithLoans(em: EntityManager): Promise<Lender> {
  const known = await lenderByCode(em, "ACME");
  if (known) return known;
  // The vault seals the lender's API key, which this example does not use. In production, store the master key where
  // only the service can read it.
  const vault = createVault({ masterKey: randomBytes(32).toString("hex") });
  const onboarding = { vault, allow: parseAllowList(""), environment: "sandbox" };
  const { lender } = await onboardLender(em, onboarding, { code: "ACME", name: "Acme Finance", currency: "INR" });
  const borrower = { borrowerName: "Asha Rao", borrowerPhone: "+919800000001" };
  const rows = [
    { sourceLoanNumber: "LN-1001", ...borrower, outstandingAmount: new AmountLiteral("5000.50") },
    { sourceLoanNumber: "LN-1002", ...borrower, outstandingAmount: new AmountLiteral("12000") },
  ];
  const { success } = await importCases(em, { lender, rows, dryRun: false, atomic: true }, "sandbox");
  if (!success) throw new Error("The loans of this example could not be imported.");
  return lender;
}
