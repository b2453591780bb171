/** Signals on this channel carry the id of a payment link whose state has changed: subscribers look at it again. */
export const PAYMENT_LINK_CHANNEL = "payment-link";
