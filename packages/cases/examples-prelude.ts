// The declarations that the examples in the docstrings use. The examples are compiled together with this file.

import { newId, transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";
import { currency, parseJson } from "@collections/money";
import type * as own from "@collections/cases";

declare const em: EntityManager;
declare const tx: Tx;
declare const now: Date;
declare const lenderId: string;
declare const caseId: string;
declare const visitId: string;
declare const fieldPartnerId: string;
declare const lockedCase: own.LockedCase;
declare const importedCase: own.ImportedCase;
declare const lender: own.LenderDefaults;
declare const row: own.CaseRow;
/** The body of a lender's request. */
declare const body: string;
