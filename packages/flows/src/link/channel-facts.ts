import type { Case } from "@collections/cases";
import type { Lender } from "@collections/lenders";
import type { Channel, ChannelFacts } from "@collections/payment-links";

/** Returns, by channel, the facts that decide whether a link may now be sent to the borrower of a case. */
export function channelFacts({ consent, borrowerEmail }: Case, { whatsapp }: Lender): Record<Channel, ChannelFacts> {
  return {
    whatsapp: {
      consent: consent.whatsapp,
      hasAddress: true,
      isConfigured: whatsapp.phoneNumberId !== null && whatsapp.hasToken,
    },
    // Only the mailer knows whether a mail server is configured. If there is none, sending the e-mail fails with
    // NOT_CONFIGURED.
    email: { consent: consent.email, hasAddress: borrowerEmail !== null, isConfigured: true },
  };
}
