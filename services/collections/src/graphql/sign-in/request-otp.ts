import { transaction } from "@collections/database";
import { knownDeviceOf, requestOtp } from "@collections/field-partners";
import { builder } from "../plumbing/builder.ts";
import type { Context } from "../plumbing/context.ts";
import "./sign-in-error.ts";
import { admitSignIn, keyConflict, tooOften } from "./sign-in-limit.ts";
import {
  IdempotencyConflictError,
  InvalidPhoneError,
  OtpUnavailableError,
  RateLimitedError,
  refusedError,
} from "../plumbing/user-error.ts";

interface Requested {
  readonly otpId: string;
  readonly expiresAt: Date;
}

const RequestOtpInput = builder.inputType("RequestOtpInput", {
  description: "A phone that a code is to be sent to.",
  fields: (t) => ({
    idempotencyKey: t.field({ type: "UUID", required: true, description: "A new one for each code that is wanted." }),
    phone: t.string({ required: true, description: "As E.164 has it: +919800000001." }),
    refreshToken: t.string({
      description:
        "The last one that this device has had for this phone, also when it has ended. The device then has limits of its " +
        "own, which no stranger can use up: neither by asking for codes for the phone, nor from the same network.",
    }),
  }),
});

const RequestOtpPayload = builder.objectRef<Requested>("RequestOtpPayload").implement({
  description: "A code is on its way, if a field partner has this phone. The answer does not say whether one does.",
  fields: (t) => ({
    otpId: t.expose("otpId", { type: "UUID", description: "What `verifyOtp` wants beside the code." }),
    expiresAt: t.expose("expiresAt", { type: "DateTime", description: "Until when the code counts." }),
  }),
});

builder.mutationField("requestOtp", (t) =>
  t.field({
    type: RequestOtpPayload,
    nullable: true,
    skipTypeScopes: true,
    description:
      "Has a code of six digits sent to a phone, three times in 15 minutes and ten times a day at most. Needs no token.",
    args: { input: t.arg({ type: RequestOtpInput, required: true, description: "The phone." }) },
    errors: {
      types: [InvalidPhoneError, OtpUnavailableError, RateLimitedError, IdempotencyConflictError],
      union: { description: "A code to wait for, or why there is none." },
    },
    resolve: (_, { input }, context) => request(input, context),
  }),
);

interface Asked {
  readonly phone: string;
  readonly idempotencyKey: string;
  readonly refreshToken?: string | null | undefined;
}

async function request(asked: Asked, context: Context): Promise<Requested> {
  const { app } = context;
  if (!app.config.isSandbox && app.otpChannels.length === 0) {
    const message = "This service sends no codes. Ask the operator for an access token.";
    throw refusedError({ code: "OTP_UNAVAILABLE", message });
  }
  const { phone, idempotencyKey, refreshToken } = asked;
  const codeRequest = { phone, idempotencyKey, previousRefreshToken: refreshToken ?? undefined };
  await admitSignIn(context, await knownDeviceOf(app.database.em(), codeRequest));
  const outcome = await transaction(context.reads.em, (tx) => requestOtp(tx, codeRequest, new Date()));
  app.metrics.onSignIn("ask", outcome.kind);
  switch (outcome.kind) {
    case "requested":
      return outcome;
    case "too_many":
      throw tooOften(outcome.waitMs, "This phone has reached its limit of codes.");
    case "invalid_phone":
      throw refusedError({ code: "INVALID_PHONE", message: "Write the number with its country: +919800000001." });
    case "conflict":
      throw keyConflict();
  }
}
