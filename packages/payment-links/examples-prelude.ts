// The declarations that the examples in the docstrings use. The examples are compiled together with this file.

import { transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
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
declare const linkRequest: own.LinkRequest;
declare const outbound: Outbound;
/** The lender's registered settings for mint calls. */
declare const lender: Pick<own.MintCall, "url" | "authHeader" | "signingKey" | "keyId">;
