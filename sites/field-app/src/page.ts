import { escapeHtml } from "@collections/web-pages";

/** The app's icon: an open door. It is embedded in the page, so that no image is loaded. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#0b6b63"/>` +
    `<path d="M11 24V9.5l9-2V24M8 24h16M17 15.5v1.5" fill="none" stroke="#fff" stroke-width="2.4" ` +
    `stroke-linecap="round" stroke-linejoin="round"/></svg>`,
)}`;

/** The style sheets below /app/assets, in the order in which the page loads them: later ones override earlier ones. */
export const STYLES = ["base.css", "frame.css", "controls.css", "parts.css", "cases.css", "door.css"];

/**
 * Returns the only page of the app; its modules create all content. `base` is the path prefix that a proxy in front of
 * the service removes, or empty.
 */
export function appPage(base: string): string {
  return `<!doctype html>
<html lang="en" data-base="${escapeHtml(base)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" media="(prefers-color-scheme: light)" content="#f3f5f2">
<meta name="theme-color" media="(prefers-color-scheme: dark)" content="#0e1412">
<title>Partner Collections</title>
<link rel="icon" href="${ICON}">
${STYLES.map((name) => `<link rel="stylesheet" href="${base}/app/assets/${name}">`).join("\n")}
<script type="module" src="${base}/app/modules/phone/main.ts"></script>
</head>
<body>
<div id="app"><noscript><p class="notice bad">This app needs JavaScript.</p></noscript></div>
</body>
</html>
`;
}
