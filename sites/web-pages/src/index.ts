export { answerPage, type Caching, type MayConnect } from "./answer-page.ts";
export {
  BrowserModuleError,
  type BrowserModules,
  browserModules,
  packageFolder,
  serveBrowserModules,
  SHARED_BROWSER_MODULES,
  sourceFolder,
  type SourceFolders,
} from "./browser-modules.ts";
export { PALETTE } from "./palette.ts";
export { escapeHtml } from "./html.ts";
export { madeOnce } from "./made-once.ts";
export { staticFiles } from "./static-files.ts";
