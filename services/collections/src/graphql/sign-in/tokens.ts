import type { Tokens } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";

const TokensRef = builder.objectRef<Tokens>("Tokens").implement({
  description: "The tokens of a session. Store them where no other app can read them.",
  fields: (t) => ({
    accessToken: t.exposeString("accessToken", {
      description: "The token for `Authorization: Bearer` in each request.",
    }),
    accessExpiresAt: t.expose("accessExpiresAt", {
      type: "DateTime",
      description: "When the access token expires, which is after 15 minutes.",
    }),
    refreshToken: t.exposeString("refreshToken", {
      description: "The token for `refreshSession`, which can be used once.",
    }),
    refreshExpiresAt: t.expose("refreshExpiresAt", {
      type: "DateTime",
      description: "When the refresh token expires, which is after 30 days.",
    }),
  }),
});

/** Defines the payload of a mutation that returns tokens. */
export function tokensPayload(name: string, description: string) {
  return builder.objectRef<{ readonly tokens: Tokens }>(name).implement({
    description,
    fields: (t) => ({
      tokens: t.expose("tokens", {
        type: TokensRef,
        description: "The new tokens. Store them before you do anything else.",
      }),
    }),
  });
}
