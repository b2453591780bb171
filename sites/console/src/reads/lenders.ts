import type { ListedDelivery } from "./listed-delivery.ts";
/** A page of lenders. */
export interface LendersPage {
  readonly lenders: readonly {
    readonly lenderCode: string;
    readonly name: string;
    readonly state: string;
    readonly currency: string;
    readonly timeZone: string;
    readonly commissionPercent: string;
  }[];
  /** The `after` of the next page; null on the last page. */
  readonly next: string | null;
}

/** A lender with its callback. Times are local times in `timeZone`. */
export interface LenderView {
  readonly lenderCode: string;
  readonly name: string;
  readonly state: string;
  readonly timeZone: string;
  readonly onboarding: readonly { readonly step: string; readonly isDone: boolean }[];
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly endpoint:
    | {
        readonly url: string | null;
        readonly state: string;
        readonly consecutiveFailures: number;
        readonly waiting: number;
        readonly parked: number;
        readonly failingSince: string | null;
        readonly suspendedAt: string | null;
        readonly nextProbeAt: string | null;
      }
    | undefined;
  readonly lastFailure:
    | {
        readonly at: string;
        readonly eventId: string;
        readonly what: string;
        readonly cause: string;
        readonly remedy: string;
      }
    | undefined;
  readonly deliveries: readonly ListedDelivery[];
  /** The `before` of the next page of deliveries; null on the last page. */
  readonly next: string | null;
  readonly fallback: {
    readonly upiId: string | null;
    readonly bank: string | null;
    readonly instructions: string | null;
    /** The QR code: the path of an SVG image, whose width and height are `modules`. */
    readonly code: { readonly modules: number; readonly path: string } | null;
  };
}
