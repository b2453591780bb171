// Declarations that the examples in the docstrings use. The examples are compiled together with this file.

import type { EntityManager } from "@collections/entities";
import type { AnsweredRequest as ARequest, RequestLog as ALog } from "@collections/request-log";

declare const em: EntityManager;
declare const lenderId: string;
declare const request: ARequest;
declare const requestLog: ALog;
declare function lenderIdOf(keyId: string): Promise<string | undefined>;
