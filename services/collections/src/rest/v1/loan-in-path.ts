import { isDotSegment } from "@collections/cases";
import { Problem } from "../../http/problem.ts";
import type { Parameter } from "../endpoint/endpoint.ts";

export const LOAN: Parameter = {
  name: "loan",
  in: "path",
  description:
    "Your loan number, percent-encoded: `MUM/2023/00123` is `MUM%2F2023%2F00123`. Sign the path in this form.",
  schema: { type: "string" },
  example: "LN-2040",
};

/** Returns false for a text that PostgreSQL cannot store or a URL cannot contain. No loan has such a number. */
export function couldBeLoan(loan: string): boolean {
  return loan.isWellFormed() && !loan.includes("\0") && !isDotSegment(loan);
}

export function loanNotFound(): Problem {
  return new Problem("LOAN_NOT_FOUND", "There is no case of this loan; import it first.");
}
