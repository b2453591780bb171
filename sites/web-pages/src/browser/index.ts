export { writeToClipboard } from "./clipboard.ts";
export { byId, type Content, element, fill } from "./element.ts";
