import { escapeHtml } from "@collections/web-pages";
import { LANGUAGES } from "./code-block.ts";

/** A sample in one language. `language` is a key of `LANGUAGES`. */
export interface TabbedSample {
  readonly language: string;
  readonly html: string;
  /** The id of the panel, which links lead to; by default made of the group and the language. */
  readonly id?: string;
}

/**
 * Renders samples in several languages. Without scripts, the samples are one below the other, each with its language as
 * a caption. `pages/sample-tabs.ts` turns them into tabs.
 *
 * @param group a text that is unique on the page, for the ids of the panels
 */
export function sampleTabs(group: string, samples: readonly TabbedSample[]): string {
  const panels = samples.map(({ language, html, id = `${group}-${language}` }) => {
    const name = escapeHtml(LANGUAGES[language] ?? language);
    return `<div class="sample" id="${id}" data-language="${language}" data-name="${name}">
<p class="caption">${name}</p>
${html}</div>`;
  });
  return `<div class="samples">\n${panels.join("\n")}\n</div>\n`;
}
