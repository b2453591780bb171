export { type AppProject, CommandError, createAppProject } from "./app-project.ts";
export { apolloWithHashes, gql } from "./apollo-client.ts";
