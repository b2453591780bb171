export { type ClientProject, createClientProject } from "./client-project.ts";
export { type Finding, lintWithRedocly, lintWithSpectral } from "./lint.ts";
export { ProgramError } from "./program.ts";
