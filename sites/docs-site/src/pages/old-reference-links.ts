import { byId } from "@collections/web-pages/browser";

/**
 * Leads links of earlier versions of the reference, such as `/docs/reference#/Payments/confirmPayment`, to the page that
 * has the operation now.
 */
const [, operation] = /^#\/[^/]+\/(\w+)/.exec(location.hash) ?? [];
const links = [...byId("main", HTMLElement).querySelectorAll("a")];
const link = links.find(({ href }) => operation !== undefined && href.endsWith(`#${operation}`));
if (link) location.replace(link.href);
