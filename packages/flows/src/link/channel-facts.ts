import type { Case } from "@collections/cases";
import type { Lender } from "@collections/lenders";
import type { Channel, ChannelFacts } from "@collections/payment-links";

/** What decides, as things stand, whether a link of a case may go to its borrower on each channel. */
export function channelFacts({ consent, borrowerEmail }: Case, { whatsapp }: Lender): Record<Channel, ChannelFacts> {
  return {
    whatsapp: {
      consent: consent.whatsapp,
      hasAddress: true,
      isConfigured: whatsapp.phoneNumberId !== null && whatsapp.hasToken,
    },
    // Whether the operator has a mail server is known to the mailer, which says so when it is asked to send.
    email: { consent: consent.email, hasAddress: borrowerEmail !== null, isConfigured: true },
  };
}
