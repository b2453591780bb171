/** The name of a payment: its lender, its loan and the lender's reference. */
export interface PaymentName {
  readonly lenderCode: string;
  readonly loan: string;
  readonly reference: string;
}

/** A payment, and what earlier reversals have left of it. Times are local times of the lender. */
export interface PaymentView {
  readonly lenderCode: string;
  readonly timeZone: string;
  readonly sourceLoanNumber: string;
  readonly reference: string;
  readonly currency: string;
  readonly amount: string;
  readonly left: string;
  readonly paidAt: string;
  readonly mode: string;
  readonly reversals: readonly {
    readonly reversalReference: string;
    readonly amount: string;
    readonly reason: string;
    readonly reversedAt: string;
  }[];
  /** The reasons that a reversal can have. */
  readonly reasons: readonly string[];
}

/** What can be paid out to a field partner now. */
export interface PayableView {
  readonly fieldPartnerId: string;
  readonly displayName: string;
  /** The time up to which the sums count; null if nothing can be paid out. */
  readonly until: string | null;
  readonly sums: readonly { readonly currency: string; readonly amount: string; readonly lines: number }[];
}

/** A change of money that an operator asks for. The texts are as the operator has typed them. */
export type MoneyOrder =
  | {
      readonly kind: "payout";
      readonly fieldPartnerId: string;
      readonly currency: string;
      readonly amount: string;
      readonly reference: string;
      readonly paidOn: string;
      readonly until: string;
    }
  | (PaymentName & {
      readonly kind: "reversal";
      readonly reversalReference: string;
      readonly reversedAt: string;
      /** Empty for all that is left of the payment. */
      readonly amount: string;
      /** One of the reasons of `PaymentView`. */
      readonly because: string;
      readonly note: string;
    })
  | (PaymentName & { readonly kind: "move"; readonly toLoan: string; readonly note: string });

/** What a change would do. `order` asks for exactly these effects. */
export type MoneyRehearsal =
  | {
      readonly kind: "possible";
      readonly order: MoneyOrder;
      readonly facts: readonly (readonly [name: string, value: string])[];
    }
  | { readonly kind: "not_found" }
  | { readonly kind: "refused"; readonly detail: string };

/** A change that waits for a second operator, or was decided. Times are ISO 8601 in UTC. */
export interface MoneyRequest {
  readonly requestId: string;
  readonly order: MoneyOrder;
  readonly requestedBy: string;
  readonly requestedAt: string;
  readonly expiresAt: string;
  readonly decidedBy: string | null;
  readonly state: "waiting" | "confirmed" | "declined" | "expired";
  /** Whether the operator who looks at the request has asked for the change. */
  readonly isOwn: boolean;
}

/** A request, with the effects that its change would have now; undefined if it does not wait. */
export interface MoneyRequestView extends MoneyRequest {
  readonly rehearsal: MoneyRehearsal | undefined;
}
