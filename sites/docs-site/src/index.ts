export { documentationSite, type SiteOptions } from "./site.ts";
