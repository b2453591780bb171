export { emptyDatabase, testDatabase, type TestDatabase } from "./test-database.ts";
