import type { Rule } from "./migration-rules.ts";

/** What is done all the same, by step and rule, with the reason why processes of the version before live beside it. */
export const EXCEPTIONS: Readonly<Record<string, Readonly<Partial<Record<Rule, string>>>>> = {};
