// The declarations that the examples in the docstrings use. Each example is compiled together with this file.

import type { EntityManager, Tx } from "@collections/entities";
import type * as own from "@collections/earnings";
import { spanOfDay } from "@collections/local-time";
import { type CurrencyCode, parsePercent, type Percent } from "@collections/money";

declare const em: EntityManager;
declare const tx: Tx;
declare const lenderId: string;
declare const caseId: string;
declare const bookingId: string;
declare const fieldPartnerId: string;
declare const payoutId: string;
declare const reversalId: string;
declare const INR: CurrencyCode;
declare const commission: Percent;
declare const now: Date;
declare const earning: own.Earning;
declare const cursorOfClient: string;
