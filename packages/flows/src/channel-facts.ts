import { caseById } from "@collections/cases";
import type { EntityManager } from "@collections/database";
import { lenderById } from "@collections/lenders";
import type { Channel, ChannelFacts, PaymentLink } from "@collections/payment-links";

/** What decides, as things stand, whether a link may go to its borrower on each channel. */
export async function channelFacts(
  em: EntityManager,
  { lenderId, caseId }: Pick<PaymentLink, "lenderId" | "caseId">,
): Promise<Record<Channel, ChannelFacts>> {
  const { consent, borrowerEmail } = (await caseById(em, { lenderId, caseId }))!;
  const { whatsapp } = (await lenderById(em, lenderId))!;
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
