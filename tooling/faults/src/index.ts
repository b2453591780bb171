export { Crew } from "./processes/crew.ts";
export { OwnPooler } from "./processes/own-pooler.ts";
export { OwnPostgres } from "./processes/own-postgres.ts";
export { Relay } from "./processes/relay.ts";
export {
  type CommandResult,
  type Ending,
  killAllStarted,
  type ServiceProcess,
  type Settings,
  startMain,
  startOperator,
  startService,
} from "./processes/service-process.ts";
export { type Random, seededRandom } from "./traffic/seeded-random.ts";
