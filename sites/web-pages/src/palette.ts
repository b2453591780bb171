/** The style sheet with the colours of the app and the console, as custom properties. */
export const PALETTE = new URL("./palette.css", import.meta.url);
