import { enableCompileCache } from "node:module";

// Caches compiled code between runs, as the service does, so that commands start faster.
enableCompileCache();
await import("./run.ts");
