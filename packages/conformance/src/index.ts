export type { Check, CheckResult, Finding, Verdict } from "./checks/check.ts";
export { CHECKS } from "./checks/checks.ts";
export { command, type Output, type Surroundings } from "./command/command.ts";
export type { Report } from "./command/report.ts";
export { reportAsJson } from "./command/report.ts";
export { reportAsJunit } from "./command/report-junit.ts";
export { chosenChecks, runChecks, tally, type Listener, type Tally } from "./checks/run.ts";
export type { Header, Key, Settings } from "./stand-in/settings.ts";
export { UsageError } from "./usage-error.ts";
