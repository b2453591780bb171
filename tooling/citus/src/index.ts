export { type CommandCount, countOf, LOG_COMMANDS, type NodeCommand, recordCommands } from "./audit/commands.ts";
export { hotStatements } from "./registry/hot-statements.ts";
export { readRegistry, type Registry } from "./registry/registry.ts";
export { type Outdated, outdated, outdatedText, readVerdicts, type Verdict } from "./audit/verdicts.ts";
