import { escapeHtml } from "@collections/web-pages";

/** The paths of the app's files, which the page names. */
export interface PageFiles {
  readonly script: string;
  readonly styles: string;
}

/** The texts of the page itself. All other texts are in the catalogues of the script. */
const NAME = "Partner Collections";
const NO_SCRIPT = "This app needs JavaScript. · इस ऐप के लिए JavaScript ज़रूरी है।";

/**
 * Returns the only page of the app; its script creates all content. `base` is the path prefix that a proxy in front of
 * the service removes, or empty.
 */
export function appPage(base: string, { script, styles }: PageFiles): string {
  return `<!doctype html>
<html lang="en" data-base="${escapeHtml(base)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" media="(prefers-color-scheme: light)" content="#f3f5f2">
<meta name="theme-color" media="(prefers-color-scheme: dark)" content="#0e1412">
<title>${NAME}</title>
<link rel="icon" href="${base}/app/icons/icon.svg">
<link rel="apple-touch-icon" href="${base}/app/icons/apple-touch-icon.png">
<link rel="manifest" href="${base}/app/manifest.webmanifest">
<link rel="stylesheet" href="${base}/app${styles}">
<script type="module" src="${base}/app${script}"></script>
</head>
<body>
<div id="app"><noscript><p class="notice bad">${NO_SCRIPT}</p></noscript></div>
</body>
</html>
`;
}

/** Returns the web app manifest, with which a phone installs the app. */
export function appManifest(base: string): object {
  const png = (name: string, size: number, purpose: "any" | "maskable") => ({
    src: `${base}/app/icons/${name}.png`,
    sizes: `${size}x${size}`,
    type: "image/png",
    purpose,
  });
  return {
    id: `${base}/app`,
    name: NAME,
    short_name: "Collections",
    description: "Cases, payment links at the door, and the field partner's own money.",
    start_url: `${base}/app`,
    scope: `${base}/app`,
    display: "standalone",
    orientation: "portrait",
    background_color: "#f3f5f2",
    theme_color: "#0b6b63",
    icons: [
      png("icon-192", 192, "any"),
      png("icon-512", 512, "any"),
      png("maskable-512", 512, "maskable"),
      { src: `${base}/app/icons/icon.svg`, sizes: "any", type: "image/svg+xml", purpose: "any" },
    ],
  };
}
