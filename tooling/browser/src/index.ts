export { accessibilityFindings, contrastFindings, linkFindings } from "./accessibility.ts";
export { type Browser, startBrowser } from "./browser.ts";
export { type OpenOptions, type OpenPage, savesPictures, SCREENS, type Screen } from "./open-page.ts";
export { ChromiumMissingError } from "./executable.ts";
