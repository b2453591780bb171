export { type BuiltService, builtService } from "./built-service.ts";
