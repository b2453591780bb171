import { enableCompileCache } from "node:module";

// Hundreds of files need no second translation: a start takes a third less. Hence the import below, after this.
enableCompileCache();
await import("./serve.ts");
