// What the examples in the docstrings take for granted; they are compiled with it.

import { type Database, type EntityManager, newId, publicId, transaction, type Tx } from "@collections/database";
import type { Outbound } from "@collections/outbound";
import type * as own from "@collections/webhooks";

declare const database: Database;
declare const em: EntityManager;
declare const tx: Tx;
declare const outbound: Outbound;
declare const courier: own.Courier;
declare const signingKeyOf: own.Courier["signingKeyOf"];
declare const pingOf: own.Prober["pingOf"];
declare const writeMail: (job: own.AlertJob) => Promise<void>;
declare const lenderId: string;
declare const eventId: string;
declare const replayId: string;
declare const keyId: string;
declare const requestId: string;
declare const now: Date;
