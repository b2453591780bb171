import { type Case, maskedPhone } from "@collections/cases";
import { builder } from "../plumbing/builder.ts";

export const BorrowerRef = builder.objectRef<Case>("Borrower").implement({
  description: "Who is to be visited.",
  fields: (t) => ({
    displayName: t.exposeString("borrowerName", { description: "The borrower's name." }),
    maskedPhone: t.string({
      description: "The phone number, enough of it to recognise: 98•••••001.",
      resolve: ({ borrowerPhone }) => maskedPhone(borrowerPhone),
    }),
    language: t.exposeString("language", { nullable: true, description: "BCP 47; null when nobody said." }),
    address: t.string({
      nullable: true,
      description: "Where to go, in one line; null when the lender sent no address.",
      resolve: ({ addresses: [first] }) => first && oneLine(first),
    }),
  }),
});

function oneLine({ line1, line2, landmark, city, district, state, postalCode }: Case["addresses"][number]) {
  const parts = [line1, line2, landmark, city, district, state, postalCode].filter((part) => part !== null);
  return parts.length > 0 ? [...new Set(parts)].join(", ") : null;
}
