import type { LinkEmailTexts } from "./link-email-texts.ts";

/** The e-mail with a link in English. */
export const en: LinkEmailTexts = {
  subject: ({ amount, lenderName }) => `Payment of ${amount} to ${lenderName}`,
  greeting: ({ borrowerName }) => `Dear ${borrowerName},`,
  request: ({ amount, lenderName }) => `${lenderName} asks you to pay ${amount}. You can pay here:`,
  closing: ({ lenderName }) => `You pay ${lenderName} directly. If you have paid already, please ignore this message.`,
};
