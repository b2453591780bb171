export { fieldApp, type FieldAppOptions } from "./site.ts";
