// The declarations that the examples in the docstrings use. Each example is compiled together with this file.

import { query, transaction } from "@collections/database";
import type { Database, EntityManager, Tx } from "@collections/entities";
import { percentOf } from "@collections/money";
import type * as own from "@collections/lenders";

declare const database: Database;
declare const em: EntityManager;
declare const tx: Tx;
declare const now: Date;
declare const lenderId: string;
declare const keyId: string;
declare const vault: own.Vault;
/** Each master key has 64 hex digits. */
declare const masterKey: string;
declare const nextMasterKey: string;
