import { type Case, maskedPhone } from "@collections/cases";
import { builder } from "../plumbing/builder.ts";

const PositionRef = builder.objectRef<{ readonly latitude: number; readonly longitude: number }>("Position").implement({
  description: "A place on the earth.",
  fields: (t) => ({
    latitude: t.exposeFloat("latitude", { description: "The latitude in degrees, from -90 to 90." }),
    longitude: t.exposeFloat("longitude", { description: "The longitude in degrees, from -180 to 180." }),
  }),
});

export const BorrowerRef = builder.objectRef<Case>("Borrower").implement({
  description: "The borrower of a case.",
  fields: (t) => ({
    displayName: t.exposeString("borrowerName", {
      description: "The borrower's name; empty if the case is shrunk, or if the borrower's data were erased.",
    }),
    maskedPhone: t.string({
      description: "The phone number with its middle digits hidden, such as 98•••••001; empty like the name.",
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
    position: t.field({
      type: PositionRef,
      nullable: true,
      description: "The place of the address; null if the lender sent no coordinates.",
      resolve({ addresses: [first] }) {
        const { latitude = null, longitude = null } = first ?? {};
        return latitude === null || longitude === null ? null : { latitude, longitude };
      },
    }),
  }),
});

function oneLine({ line1, line2, landmark, city, district, state, postalCode }: Case["addresses"][number]) {
  const parts = [line1, line2, landmark, city, district, state, postalCode].filter((part) => part !== null);
  return parts.length > 0 ? [...new Set(parts)].join(", ") : null;
}
