/**
 * Signals on this channel carry the id of a payment link whose state has changed: subscribers look at it again.
 *
 * @example
 * const stopListening = database.signals.on(PAYMENT_LINK_CHANNEL, (linkId) => console.log(`Look again at ${linkId}`));
 * database.signals.listen();
 */
export const PAYMENT_LINK_CHANNEL = "payment-link";
