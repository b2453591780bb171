export type { Check, CheckResult, Finding, Verdict } from "./check.ts";
export { CHECKS } from "./checks.ts";
export { command, type Output, type Surroundings } from "./command.ts";
export type { Report } from "./report.ts";
export { reportAsJson } from "./report.ts";
export { reportAsJunit } from "./report-junit.ts";
export { chosenChecks, runChecks, tally, type Listener, type Tally } from "./run.ts";
export type { Header, Key, Settings } from "./settings.ts";
export { UsageError } from "./usage-error.ts";
