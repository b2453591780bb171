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

/** A booking of the payments that a comparison found only in a lender's file. */
export interface BookingOrder {
  readonly kind: "booking";
  readonly lenderCode: string;
  readonly uploadId: string;
  readonly runId: string;
  readonly fileName: string;
  readonly note: string;
}

/** What a change would do. `order` asks for exactly these effects. */
export type MoneyRehearsal =
  | {
      readonly kind: "possible";
      readonly order: MoneyOrder;
      readonly facts: readonly (readonly [name: string, value: string])[];
    }
  | { readonly kind: "not_found" }
  | { readonly kind: "refused"; readonly detail: string };

/** A change that waits for a second operator, or was decided. Times are local times of the lender, or UTC, with the time zone. */
export interface MoneyRequest {
  readonly requestId: string;
  readonly order: MoneyOrder | BookingOrder;
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
  readonly rehearsal:
    | { readonly kind: "possible"; readonly facts: readonly (readonly [name: string, value: string])[] }
    | Exclude<MoneyRehearsal, { kind: "possible" }>
    | undefined;
}

/** The missing payments of an uploaded file: what a booking would do, or why it is not possible. */
export interface MissingPayments {
  readonly lenderCode: string;
  readonly uploadId: string;
  /** Changes with each comparison of the file. */
  readonly version: string;
  readonly fileName: string;
  readonly timeZone: string;
  /** The number of missing payments. */
  readonly missing: number;
  readonly rehearsal:
    | {
        readonly kind: "possible";
        readonly facts: readonly (readonly [name: string, value: string])[];
        /** The first missing payments. Without a time, a payment is not booked. */
        readonly rows: readonly {
          readonly line: string;
          readonly loan: string;
          readonly reference: string;
          readonly amount: string;
          readonly paidAt: string | null;
        }[];
      }
    | Exclude<MoneyRehearsal, { kind: "possible" }>;
}

/** A form that books missing payments. */
export interface BookingForm {
  readonly lenderCode: string;
  readonly uploadId: string;
  readonly version: string;
  /** Lines whose amounts are right although they look like minor units. */
  readonly majorUnits: string;
  readonly note: string;
}

/** The payments that a booking has booked, and those that it has not. */
export interface BookedPayments {
  readonly kind: "booked";
  readonly order: BookingOrder;
  readonly booked: number;
  /** The number of payments that were booked between the comparison and the booking. */
  readonly alreadyBooked: number;
  readonly refusedCount: number;
  readonly refused: readonly {
    /** The line of the file. */
    readonly position: number;
    readonly loan: string;
    readonly reference: string;
    readonly code: string;
    readonly detail: string;
  }[];
}
