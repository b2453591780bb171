import type { ApprovedTemplates } from "@collections/lender-twin";

/** The template that Meta has approved for Acme Finance, by language. */
export const TEMPLATES: ApprovedTemplates = {
  payment_link: {
    en: "Dear {{1}}, {{2}} asks you to pay {{3}}. You can pay here: {{4}}",
    hi: "नमस्ते {{1}}, {{2}} का अनुरोध है कि आप {{3}} का भुगतान करें। यहाँ भुगतान करें: {{4}}",
    mr: "नमस्कार {{1}}, {{2}} ची विनंती आहे की आपण {{3}} भरावेत. येथे भरा: {{4}}",
  },
};
