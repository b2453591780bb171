import { isDotSegment } from "@collections/cases";
import type { CaseSnapshot } from "@collections/flows";
import { Problem } from "../../http/problem.ts";
import type { Answer } from "../../http/answer.ts";
import type { SignedRequest } from "../request-context.ts";

/** GET /api/v1/partner/cases/{loan} (contract: Partner endpoints): the current state, for a receiver that saw a gap. */
export async function getCase(
  request: SignedRequest,
  read: (lenderId: string, loan: string) => Promise<CaseSnapshot | undefined>,
): Promise<Answer> {
  const loan = request.loan ?? "";
  const snapshot = couldBeLoan(loan) ? await read(request.lender.id, loan) : undefined;
  if (!snapshot) throw loanNotFound();
  const etag = `"${snapshot.sequence}"`;
  const headers = { ETag: etag };
  if (isKnown(request.headers["if-none-match"], etag)) return { status: 304, headers };
  return { status: 200, body: snapshot.body, headers };
}

export function loanNotFound(): Problem {
  return new Problem("LOAN_NOT_FOUND", "There is no case of this loan; import it first.");
}

/** What PostgreSQL cannot hold, or a URL cannot name, is no loan number. */
export function couldBeLoan(loan: string): boolean {
  return loan.isWellFormed() && !loan.includes("\0") && !isDotSegment(loan);
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = new Set((ifNoneMatch ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, "")));
  return known.has(etag) || known.has("*");
}
