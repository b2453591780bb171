export { type CommandCount, countOf, LOG_COMMANDS, type NodeCommand, recordCommands } from "./commands.ts";
export { hotStatements } from "./hot-statements.ts";
export { readRegistry, type Registry } from "./registry.ts";
export { type Outdated, outdated, outdatedText, readVerdicts, type Verdict } from "./verdicts.ts";
