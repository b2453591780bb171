// Declares the names that the examples in the docstrings use. The examples are compiled together with this file.

import {
  type Database,
  enqueue,
  type EntityManager,
  newId,
  publicId,
  transaction,
  type Tx,
} from "@collections/database";
import type { Outbound } from "@collections/outbound";
import type * as own from "@collections/webhooks";

declare const database: Database;
declare const em: EntityManager;
declare const tx: Tx;
declare const outbound: Outbound;
declare const sender: own.WebhookSender;
declare const signingKeyOf: own.WebhooksOptions["signingKeyOf"];
declare const pingOf: own.WebhooksOptions["pingOf"];
declare const job: own.AlertJob;
declare const writeMail: (job: own.AlertJob) => Promise<void>;
declare const tenantId: string;
declare const filter: own.DeliveryFilter;
declare const eventId: string;
declare const replayId: string;
declare const keyId: string;
declare const requestId: string;
declare const now: Date;
