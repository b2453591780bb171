import { checkSmsBody, InvalidSmsBodyError } from "@collections/messaging";
import { checkHeader } from "@collections/outbound";
import { z } from "zod";

/** The channels that send sign-in codes to phones. A channel that the operator has not set up is undefined. */
export interface OtpSettings {
  whatsapp: { phoneNumberId: string; token: string; template: string; language: string } | undefined;
  sms: { url: string; headers: Record<string, string>; body: string; text: string } | undefined;
}

interface Given {
  OTP_WHATSAPP_PHONE_NUMBER_ID?: string | undefined;
  OTP_WHATSAPP_TOKEN?: string | undefined;
  OTP_WHATSAPP_TEMPLATE: { name: string; language: string };
  OTP_SMS_URL?: string | undefined;
  OTP_SMS_HEADER: Record<string, string>;
  OTP_SMS_BODY: string;
  OTP_SMS_TEXT: string;
}

export const whatsappNumberId = z
  .string()
  .regex(/^\d{1,32}$/, "takes Meta's id of the number: digits only")
  .optional();

export const whatsappTemplate = z
  .string()
  .regex(/^[a-z0-9_]{1,512}(:[a-z]{2,3}(_[A-Z]{2,4})?)?$/, "takes a template and its language, such as sign_in_code:en")
  .default("sign_in_code:en")
  .transform((text) => {
    const [name = "", language = "en"] = text.split(":");
    return { name, language };
  });

export const smsUrl = z
  .url({ protocol: /^https?$/, hostname: /./, error: "takes a URL such as https://sms.example/send" })
  .optional();

/** A setting with one HTTP header, which is sent with each request to a service of the operator. */
export const oneHeader = z
  .string()
  .default("")
  .transform((text, context) => {
    if (text === "") return {};
    const [, name = "", value = ""] = /^([^:]+):\s*(.*)$/s.exec(text) ?? [];
    if (name !== "" && value !== "" && checkHeader(name, value).ok) return { [name]: value };
    context.addIssue({ code: "custom", message: "takes one header such as Authorization: Bearer …" });
    return z.NEVER;
  });

export const smsBody = z
  .string()
  .default('{"to":"{to}","text":"{text}"}')
  .transform((body, context) => {
    try {
      checkSmsBody(body);
      return body;
    } catch (error) {
      if (!(error instanceof InvalidSmsBodyError)) throw error;
      context.addIssue({ code: "custom", message: error.message });
      return z.NEVER;
    }
  });

export const smsText = z
  .string()
  .default("{code} is your code to sign in to Partner Collections. It is good for 5 minutes. Give it to nobody.")
  .refine((text) => text.includes("{code}"), "must contain {code}");

/** Returns the channels that valid settings describe. */
export function otpSettings(given: Given): OtpSettings {
  const { OTP_WHATSAPP_PHONE_NUMBER_ID: phoneNumberId, OTP_WHATSAPP_TOKEN: token, OTP_SMS_URL: url } = given;
  const { name: template, language } = given.OTP_WHATSAPP_TEMPLATE;
  return {
    whatsapp:
      phoneNumberId === undefined || token === undefined ? undefined : { phoneNumberId, token, template, language },
    sms:
      url === undefined
        ? undefined
        : { url, headers: given.OTP_SMS_HEADER, body: given.OTP_SMS_BODY, text: given.OTP_SMS_TEXT },
  };
}

/** Returns a problem if only one of the two settings of a WhatsApp account is given. */
export function missingForOtp(given: Record<string, string | undefined>): string[] {
  const account = ["OTP_WHATSAPP_PHONE_NUMBER_ID", "OTP_WHATSAPP_TOKEN"];
  const missing = account.filter((name) => given[name] === undefined);
  return missing.length === 1 ? [`${missing[0]} is required with ${account.find((name) => name !== missing[0])}`] : [];
}
