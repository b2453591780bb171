import { startFakeWhatsApp } from "@collections/lender-twin";
import { createWhatsApp } from "@collections/messaging";
import { currency, money } from "@collections/money";
import { createOutbound } from "@collections/outbound";
import { expect, test } from "vitest";
import { linkEmail, whatsappParameters } from "../index.ts";

const plain = {
  borrowerName: "Asha Rao",
  lenderName: "Acme Finance",
  amount: money(250_000n, currency("INR")),
  url: "https://pay.lender.example/plink_77?a=1&b=2",
  locale: "en-IN",
};

test("the e-mail contains the lender, the amount and the URL", () => {
  const { subject, text, html } = linkEmail(plain);
  expect(subject).toBe("Payment of ₹2,500.00 to Acme Finance");
  expect(text.split("\n\n")).toEqual([
    "Dear Asha Rao,",
    "Acme Finance asks you to pay ₹2,500.00. You can pay here:",
    plain.url,
    "You pay Acme Finance directly. If you have paid already, please ignore this message.",
  ]);
  expect(html).toContain(
    '<a href="https://pay.lender.example/plink_77?a=1&amp;b=2">https://pay.lender.example/plink_77?a=1&amp;b=2</a>',
  );
});

test("markup and line breaks in names or the URL are escaped or removed", () => {
  const { subject, text, html } = linkEmail({
    ...plain,
    borrowerName: `Asha\r\n\r\nPay here: <img src=x onerror='alert(1)'>`,
    lenderName: `</title><script>"&`,
    url: `https://pay.lender.example/"><script>alert(1)</script>`,
  });
  expect(html).not.toMatch(/<script|<img|" ?>?<script|onerror='/);
  expect(html.match(/<[a-z/!][^>]*>/g)).toHaveLength(linkEmail(plain).html.match(/<[a-z/!][^>]*>/g)!.length);
  expect(subject).not.toMatch(/[\r\n]/);
  expect(text.split("\n\n")).toHaveLength(4);
});

test("WhatsApp accepts the message, with the whole URL in its body", async () => {
  const fake = await startFakeWhatsApp({ token: "token", phoneNumberId: "1234567890" });
  const outbound = createOutbound({ allow: new URL(fake.url).host });
  const whatsapp = createWhatsApp({ baseUrl: fake.url, outbound });
  const bodyParameters = whatsappParameters({ ...plain, borrowerName: "Asha\tRao     of\nPune" });
  const { messageId } = await whatsapp.sendTemplate({
    phoneNumberId: "1234567890",
    accessToken: "token",
    to: "+919800000001",
    template: { name: "payment_link", language: "en", bodyParameters },
  });
  await outbound.close();
  await fake.close();
  expect(fake.messages).toMatchObject([{ id: messageId, parameters: bodyParameters }]);
  expect(bodyParameters).toEqual(["Asha Rao of Pune", "Acme Finance", "₹2,500.00", plain.url]);
});
