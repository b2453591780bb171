import { casesSchema } from "@collections/cases/schema";
import type { PackageSchema } from "@collections/database";
import { earningsSchema } from "@collections/earnings/schema";
import { fieldPartnersSchema } from "@collections/field-partners/schema";
import { flowsSchema } from "@collections/flows/schema";
import { bookingsSchema } from "@collections/bookings/schema";
import { lendersSchema } from "@collections/lenders/schema";
import { paymentLinksSchema } from "@collections/payment-links/schema";
import { webhooksSchema } from "@collections/webhooks/schema";

const parties: PackageSchema[] = [lendersSchema, fieldPartnersSchema];
const work: PackageSchema[] = [casesSchema, paymentLinksSchema, bookingsSchema, earningsSchema, webhooksSchema];

/** The schemas that the flows need. */
export const schemas: PackageSchema[] = [...parties, ...work, flowsSchema];
