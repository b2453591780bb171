import { readInternationalPhone } from "@collections/cases";
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
  description: "The phone to which the code is sent.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new code. A repeat of the request has the same UUID.",
    }),
    phone: t.string({ required: true, description: "The phone number in E.164, such as +919800000001." }),
    refreshToken: t.string({
      description:
        "The last refresh token that this device had for this phone, even if its session has ended. The device " +
        "then has rate limits of its own. Other people cannot use them up, neither with requests for the same " +
        "phone nor from the same network.",
    }),
  }),
});

const RequestOtpPayload = builder.objectRef<Requested>("RequestOtpPayload").implement({
  description:
    "The code is being sent, if a field partner has this phone. The answer does not say whether a field " +
    "partner has it.",
  fields: (t) => ({
    otpId: t.expose("otpId", { type: "UUID", description: "The id that `verifyOtp` needs together with the code." }),
    expiresAt: t.expose("expiresAt", { type: "DateTime", description: "When the code expires." }),
  }),
});

builder.mutationField("requestOtp", (t) =>
  t.field({
    type: RequestOtpPayload,
    nullable: true,
    skipTypeScopes: true,
    description:
      "Sends a code of six digits to a phone, at most three times in 15 minutes and ten times a day. Needs no " +
      "access token.",
    args: { input: t.arg({ type: RequestOtpInput, required: true, description: "The phone." }) },
    errors: {
      types: [InvalidPhoneError, OtpUnavailableError, RateLimitedError, IdempotencyConflictError],
      union: { description: "The id of the code, or the reason why no code is sent." },
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
  const { idempotencyKey, refreshToken } = asked;
  const phone = readInternationalPhone(asked.phone) ?? asked.phone;
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
