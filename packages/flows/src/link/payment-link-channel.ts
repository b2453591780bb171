/**
 * The channel of signals about payment links. A signal carries the id of a link whose state has changed, and
 * subscribers read the link again.
 *
 * @example
 * const stopListening = database.signals.on(PAYMENT_LINK_CHANNEL, (linkId) => console.log(`Link ${linkId} has changed`));
 * database.signals.listen();
 */
export const PAYMENT_LINK_CHANNEL = "payment-link";
