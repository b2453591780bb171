export { afterFile } from "./after-file.ts";
export { emptyDatabase, testDatabase, type TestDatabase } from "./test-database.ts";
