// Declarations that the examples in the docstrings use. The examples are compiled together with this file.

import { transaction } from "@collections/database";
import type { EntityManager, Tx } from "@collections/entities";

declare const em: EntityManager;
declare const tx: Tx;
declare const now: Date;
declare const token: string;
declare const formId: string;
declare const requestId: string;
declare const lenderId: string;
