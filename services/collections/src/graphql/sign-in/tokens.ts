import type { Tokens } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";

const TokensRef = builder.objectRef<Tokens>("Tokens").implement({
  description: "What the app keeps of a session, where nobody else can read it.",
  fields: (t) => ({
    accessToken: t.exposeString("accessToken", { description: "For `Authorization: Bearer`, in each request." }),
    accessExpiresAt: t.expose("accessExpiresAt", {
      type: "DateTime",
      description: "Until when the access token counts: 15 minutes.",
    }),
    refreshToken: t.exposeString("refreshToken", { description: "For `refreshSession`, once." }),
    refreshExpiresAt: t.expose("refreshExpiresAt", {
      type: "DateTime",
      description: "Until when the refresh token counts: 30 days.",
    }),
  }),
});

/** The payload of a mutation that gives tokens. */
export function tokensPayload(name: string, description: string) {
  return builder.objectRef<{ readonly tokens: Tokens }>(name).implement({
    description,
    fields: (t) => ({
      tokens: t.expose("tokens", { type: TokensRef, description: "Store them before anything else." }),
    }),
  });
}
