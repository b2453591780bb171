export { accessibilityFindings, contrastFindings } from "./accessibility.ts";
export { type Browser, startBrowser } from "./browser.ts";
export { type OpenOptions, type OpenPage, SCREENS, type Screen } from "./open-page.ts";
export { ChromiumMissingError } from "./executable.ts";
