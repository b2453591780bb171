export { type AppProject, CommandError, createAppProject } from "./app-project.ts";
