import { type Amount, AmountLiteral } from "./amount.ts";
import type { Answer } from "./answer.ts";

/** The loan and the amount of a test call to your mint endpoint. contract: POST mint-link/test */
export interface MintToTest {
  readonly loan: string;
  /** Default: `"1"`. */
  readonly amount?: Amount;
}

/** Why a test minted no link. `code` is the `reason` that the event `payment_link.unavailable` would have. */
export interface MintLinkFault {
  readonly code: string;
  readonly detail: string;
  readonly cause: string;
  readonly remedy: string;
}

/** The result of a test call to your mint endpoint. `***` replaces the value of your registered header. */
export interface MintLinkTest extends Answer {
  readonly minted: boolean;
  readonly durationMs: number;
  readonly link: { readonly linkId: string; readonly url: string } | null;
  readonly request: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  } | null;
  readonly error: MintLinkFault | null;
}

/** Builds the request's body. Throws InvalidAmountError. */
export function bodyOfMintTest({ loan, amount }: MintToTest): Record<string, unknown> {
  return { loan, ...(amount !== undefined && { amount: new AmountLiteral(amount, "amount") }) };
}
