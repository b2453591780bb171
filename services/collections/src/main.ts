import { enableCompileCache, flushCompileCache } from "node:module";

// Enable the cache before the import, so that Node caches the compiled code of hundreds of files. The next start then
// takes a third less time.
enableCompileCache();
await import("./serve.ts");
// Write the cache now. Otherwise Node would write it only when the process exits, and never if the process is killed.
flushCompileCache();
