import { en } from "./en.ts";
import { hi } from "./hi.ts";
import type { LinkEmailTexts } from "./link-email-texts.ts";

/**
 * The e-mail's texts by language, as a BCP 47 tag. To add a language, write a file beside this one, named after its tag,
 * and add it here. English is the language of a borrower for whom no other one fits, so it comes first.
 */
export const LINK_EMAIL_TEXTS: Readonly<Record<string, LinkEmailTexts>> = { en, hi };
