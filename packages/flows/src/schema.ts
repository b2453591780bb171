import type { PackageSchema } from "@collections/database";
import { mintPaymentLinkQueue, sendPaymentLinkQueue } from "./link/link-jobs.ts";

/**
 * The queues of the flows. Flows have no tables of their own.
 *
 * @example
 * await migrate({ url: process.env["DATABASE_URL"]!, schemas: [flowsSchema], jobs: true });
 */
export const flowsSchema: PackageSchema = {
  name: "flows",
  entities: [],
  migrations: [],
  queues: [mintPaymentLinkQueue, sendPaymentLinkQueue],
};
