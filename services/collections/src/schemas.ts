import { casesSchema } from "@collections/cases/schema";
import type { PackageSchema } from "@collections/database";
import { earningsSchema } from "@collections/earnings/schema";
import { fieldPartnersSchema } from "@collections/field-partners/schema";
import { flowsSchema } from "@collections/flows/schema";
import { bookingsSchema } from "@collections/bookings/schema";
import { lendersSchema } from "@collections/lenders/schema";
import { operatorsSchema } from "@collections/operators/schema";
import { paymentLinksSchema } from "@collections/payment-links/schema";
import { rateLimitsSchema } from "@collections/rate-limits/schema";
import { webhooksSchema } from "@collections/webhooks/schema";
import { requestLogSchema } from "@collections/request-log/schema";
import { uploadsSchema } from "./table-file/upload/upload-schema.ts";

/**
 * The schema of pg-boss's tables. It is not the default of the database package, because the service had this schema
 * before that package had the option.
 */
export const jobsSchema = "pgboss";

/** The schemas of all packages that the service uses, and its own. */
export const schemas: PackageSchema[] = [
  lendersSchema,
  fieldPartnersSchema,
  casesSchema,
  paymentLinksSchema,
  bookingsSchema,
  earningsSchema,
  webhooksSchema,
  flowsSchema,
  rateLimitsSchema,
  operatorsSchema,
  uploadsSchema,
  requestLogSchema,
];
