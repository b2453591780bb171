// What the examples in the docstrings take for granted; they are compiled with it.

import type { Database, EntityManager } from "@collections/database";

declare const database: Database;
declare const em: EntityManager;
declare const keyId: string;
