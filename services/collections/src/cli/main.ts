import { enableCompileCache } from "node:module";

// As in the service, Node keeps compiled code between runs, so that commands start faster.
enableCompileCache();
await import("./run.ts");
