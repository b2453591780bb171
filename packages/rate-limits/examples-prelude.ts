// Declarations that the examples in the docstrings use. The examples are compiled together with this file.

import type { Database, EntityManager } from "@collections/entities";

declare const database: Database;
declare const em: EntityManager;
declare const keyId: string;
