// What the examples in the docstrings take for granted; they are compiled with it.

import { type EntityManager, transaction, type Tx } from "@collections/database";
import { currency, money } from "@collections/money";
import type { Outbound } from "@collections/outbound";
import type * as own from "@collections/payment-links";

declare const em: EntityManager;
declare const tx: Tx;
declare const now: Date;
declare const lenderId: string;
declare const caseId: string;
declare const visitId: string;
declare const fieldPartnerId: string;
declare const link: own.PaymentLink;
declare const delivery: own.LinkDelivery;
declare const wish: own.LinkRequest;
declare const outbound: Outbound;
/** What the lender has registered for mint calls. */
declare const lender: Pick<own.MintCall, "url" | "authHeader" | "signingKey" | "keyId">;
