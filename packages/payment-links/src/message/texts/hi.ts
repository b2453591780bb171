import type { LinkEmailTexts } from "./link-email-texts.ts";

/** The e-mail with a link in Hindi. */
export const hi: LinkEmailTexts = {
  subject: ({ amount, lenderName }) => `${lenderName} को ${amount} का भुगतान`,
  greeting: ({ borrowerName }) => `नमस्ते ${borrowerName},`,
  request: ({ amount, lenderName }) => `${lenderName} का अनुरोध है कि आप ${amount} का भुगतान करें। आप यहाँ भुगतान कर सकते हैं:`,
  closing: ({ lenderName }) => `आप सीधे ${lenderName} को भुगतान करते हैं। अगर आप भुगतान कर चुके हैं, तो कृपया इस संदेश पर ध्यान न दें।`,
};
