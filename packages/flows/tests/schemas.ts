import { bookingsSchema } from "@collections/bookings/schema";
import { casesSchema } from "@collections/cases/schema";
import type { PackageSchema } from "@collections/database";
import { earningsSchema } from "@collections/earnings/schema";
import { fieldPartnersSchema } from "@collections/field-partners/schema";
import { lendersSchema } from "@collections/lenders/schema";
import { paymentLinksSchema } from "@collections/payment-links/schema";
import { webhooksSchema } from "@collections/webhooks/schema";
import { flowsSchema } from "../src/schema.ts";

/** The schemas of all tables that the flows use. */
export const SCHEMAS: readonly PackageSchema[] = [
  lendersSchema,
  fieldPartnersSchema,
  casesSchema,
  paymentLinksSchema,
  bookingsSchema,
  earningsSchema,
  webhooksSchema,
  flowsSchema,
];
