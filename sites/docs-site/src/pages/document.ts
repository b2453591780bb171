/** The script of every page. */
import { addCopyButtons } from "./copy-button.ts";
import { showSampleTabs } from "./sample-tabs.ts";
import { followOverflow } from "./scroll-areas.ts";

addCopyButtons(document);
showSampleTabs(document);
followOverflow(document);
