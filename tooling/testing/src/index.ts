export { afterFile } from "./after-file.ts";
export { directUrl, emptyClusterDatabase, emptyDatabase, testDatabase, type TestDatabase } from "./test-database.ts";
export { genericPlan } from "./generic-plan.ts";
export { sessionsWaitingForLocks } from "./lock-waits.ts";
export { until } from "./until.ts";
export { withoutTriggers } from "./without-triggers.ts";
export { nodesOfThisMachine, packInto } from "./packed-package.ts";
export { ANSWER_LIMIT_MS } from "./limits.ts";
export { type SilentWire, silentWire } from "./silent-wire.ts";
