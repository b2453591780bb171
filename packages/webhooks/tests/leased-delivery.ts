import type { LeasedDelivery } from "../src/dispatch/lease.ts";

/** A leased delivery that was never tried. */
export function firstAttempt(loan: string, startBefore = 0): LeasedDelivery {
  return {
    deliveryId: loan,
    claimId: loan,
    loan,
    sequence: 1n,
    kind: "ping",
    attempts: 0,
    body: "{}",
    url: "https://a.example/",
    createdAt: new Date("2026-11-21T04:00:00Z"),
    replay: false,
    startBefore,
    isPaced: false,
  };
}

/** A leased delivery whose first attempt failed. */
export function retry(loan: string, startBefore = 0): LeasedDelivery {
  return { ...firstAttempt(loan, startBefore), attempts: 1 };
}

/** A leased delivery that a replay sends again. */
export function replayed(loan: string): LeasedDelivery {
  return { ...firstAttempt(loan), replay: true };
}
