import type { Remedy } from "./remedy.ts";

const MAX_SHOWN_CHARACTERS = 200;

/** A redirect answer. `location` is not trusted. `url` is the callback that answered, if it is known. */
interface Redirect {
  readonly status: number | null;
  readonly location: string | undefined;
  readonly url: string | null;
}

/** Explains a 3xx answer by the URL to which it redirects. Redirects are not followed. */
export function remedyForRedirect({ status, location, url }: Redirect): Remedy {
  if (status === 304) {
    return {
      cause: "Your server answered 304 (not modified), which is not a valid answer to an event.",
      remedy: "Exclude the callback from the cache in front of your server, and answer 2xx.",
    };
  }
  const shown = status === null ? "" : ` (${status})`;
  const target = targetOf(location, url);
  if (target === undefined) {
    return {
      cause: `Your server redirected${shown} without a Location that can be read.`,
      remedy: "Answer 2xx at the registered URL itself. Redirects are not followed.",
    };
  }
  const to = shownUrl(target);
  const cause = `Your server redirected to ${to}${shown}. Redirects are not followed.`;
  return { cause, remedy: adviceFor(target, to, url) };
}

function adviceFor(target: URL, to: string, url: string | null): string {
  if (target.protocol !== "https:" && !isPlainHttp(url)) {
    return "Answer 2xx at the registered URL itself: the redirect leads to a URL without https, which cannot be registered.";
  }
  if (looksLikeLogin(target)) {
    return "Exempt the callback from your login: its requests are authenticated by their signature only.";
  }
  return `Register the final URL, which is ${to} if that one answers 2xx itself, or answer 2xx at the registered one.`;
}

/** Returns undefined if the Location is absent, cannot be parsed, or has another protocol than HTTP or HTTPS. */
function targetOf(location: string | undefined, url: string | null): URL | undefined {
  const target = location === undefined ? null : URL.parse(location, url ?? undefined);
  return target?.protocol === "https:" || target?.protocol === "http:" ? target : undefined;
}

/**
 * Returns the URL without its user name, query and fragment, which may contain secrets. The URL parser has escaped all
 * characters except printable ASCII.
 */
function shownUrl(target: URL): string {
  const text = target.origin + target.pathname;
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
}

function isPlainHttp(url: string | null): boolean {
  return url !== null && URL.parse(url)?.protocol === "http:";
}

function looksLikeLogin({ pathname }: URL): boolean {
  return /\/(?:log-?in|sign-?in|sso|oauth2?|saml2?|auth)(?:\/|\.|$)/i.test(pathname);
}
