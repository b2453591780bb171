import type { OtpChannel } from "@collections/flows";
import { createSmsGateway, type WhatsApp } from "@collections/messaging";
import type { Outbound } from "@collections/outbound";
import type { Config } from "../settings/config.ts";

/** Returns the hosts of the operator's messaging services. They may be private, whatever OUTBOUND_ALLOW says. */
export function messengerHosts({ whatsappBaseUrl, otp }: Config): string {
  const urls = [whatsappBaseUrl, ...(otp.sms ? [otp.sms.url] : [])];
  return [...new Set(urls.map((url) => `${new URL(url).hostname}:*`))].join(",");
}

/** Returns the channels that are set up, in the order in which they are tried: first WhatsApp, then SMS. */
export function createOtpChannels(
  { whatsapp: account, sms }: Config["otp"],
  clients: { whatsapp: WhatsApp; outbound: Outbound },
): OtpChannel[] {
  return [
    ...(account ? [overWhatsApp(account, clients.whatsapp)] : []),
    ...(sms ? [overSms(sms, clients.outbound)] : []),
  ];
}

function overWhatsApp(account: NonNullable<Config["otp"]["whatsapp"]>, whatsapp: WhatsApp): OtpChannel {
  const { phoneNumberId, token: accessToken, template: name, language } = account;
  return {
    name: "whatsapp",
    async send({ phone: to, code }) {
      const template = { name, language, bodyParameters: [code], buttonCode: code };
      await whatsapp.sendTemplate({ phoneNumberId, accessToken, to, template });
    },
  };
}

function overSms({ text, ...gateway }: NonNullable<Config["otp"]["sms"]>, outbound: Outbound): OtpChannel {
  const sms = createSmsGateway({ ...gateway, outbound });
  return {
    name: "sms",
    send: ({ phone: to, code, otpId: key }) => sms.send({ to, text: text.replaceAll("{code}", code), key }),
  };
}
