import { type Case, maskedPhone } from "@collections/cases";
import { builder } from "../plumbing/builder.ts";

export const BorrowerRef = builder.objectRef<Case>("Borrower").implement({
  description: "The borrower of a case.",
  fields: (t) => ({
    displayName: t.exposeString("borrowerName", { description: "The borrower's name." }),
    maskedPhone: t.string({
      description: "The phone number with its middle digits hidden, such as 98•••••001.",
      resolve: ({ borrowerPhone }) => maskedPhone(borrowerPhone),
    }),
    language: t.exposeString("language", {
      nullable: true,
      description: "The borrower's language as a BCP 47 tag; null if the lender did not name one.",
    }),
    address: t.string({
      nullable: true,
      description: "The address to visit, in one line; null if the lender sent no address.",
      resolve: ({ addresses: [first] }) => first && oneLine(first),
    }),
  }),
});

function oneLine({ line1, line2, landmark, city, district, state, postalCode }: Case["addresses"][number]) {
  const parts = [line1, line2, landmark, city, district, state, postalCode].filter((part) => part !== null);
  return parts.length > 0 ? [...new Set(parts)].join(", ") : null;
}
