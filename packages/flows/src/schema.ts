import type { PackageSchema } from "@collections/database";
import { mintPaymentLinkQueue, sendPaymentLinkQueue } from "./link-jobs.ts";

/** The jobs of the flows. Flows keep no rows of their own. */
export const flowsSchema: PackageSchema = {
  name: "flows",
  entities: [],
  migrations: [],
  queues: [mintPaymentLinkQueue, sendPaymentLinkQueue],
};
