import { enableCompileCache } from "node:module";

// As for the service: what was translated once is kept, and a command answers sooner.
enableCompileCache();
await import("./run.ts");
