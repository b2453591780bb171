import type { ProviderAccess } from "../access.ts";
import { messagePage } from "../pages/message.ts";
import { leavingPage, leftPage, refusedSignIn, signedInPage } from "../pages/provider.ts";
import type { ConsoleRoute, RouteAnswer, Visit } from "../route.ts";

/** The beginning and the end of a sign-in by an OpenID Connect provider, and the sign-out there. */
export const PROVIDER_ROUTES: readonly ConsoleRoute[] = [
  {
    method: "get",
    path: "/oidc",
    roles: "none",
    answer: withProvider(async (provider, { home }) => {
      const started = await provider.start();
      if (!started) return refusedSignIn(home, provider, { reason: "unavailable", detail: undefined });
      return { redirectTo: started.url, attempt: started.attempt };
    }),
  },
  {
    method: "get",
    path: "/oidc/callback",
    roles: "none",
    answer: withProvider(async (provider, { home, query, attempt }) => {
      const outcome = await provider.finish({ attempt, query });
      if (outcome.kind === "refused") return { ...refusedSignIn(home, provider, outcome), attempt: "end" };
      return { page: signedInPage(home, outcome.name), session: outcome.session, attempt: "end" };
    }),
  },
  {
    method: "get",
    path: "/oidc/sign-out",
    roles: "none",
    answer: withProvider(async (provider, { home }) => {
      const url = await provider.signOutUrl();
      return url === undefined ? { redirectTo: `${home}/signed-out` } : { page: leavingPage(home, provider) };
    }),
  },
  {
    method: "get",
    path: "/oidc/end-session",
    roles: "none",
    answer: withProvider(async (provider, { home }) => ({
      redirectTo: (await provider.signOutUrl()) ?? `${home}/signed-out`,
    })),
  },
  {
    method: "get",
    path: "/oidc/signed-out",
    roles: "none",
    answer: withProvider(async (provider, { home }) => ({ page: leftPage(home, provider) })),
  },
];

function withProvider(answer: (provider: ProviderAccess, visit: Visit) => Promise<RouteAnswer>) {
  return async (visit: Visit): Promise<RouteAnswer> => {
    const { provider } = visit.access;
    if (provider) return answer(provider, visit);
    const text = "Operators sign in to this console by links: no provider is set up.";
    return { page: messagePage("Page not found", text), status: 404 };
  };
}
