import { addCopyButtons } from "./copy-button.ts";

addCopyButtons(document);
