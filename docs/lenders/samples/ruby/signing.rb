require "openssl"

module Signing
  TOLERANCE_MS = 5 * 60 * 1000

  # The signature of a request. The body is the very bytes that go over the wire.
  def self.sign(secret, method, path, timestamp, body)
    head = "#{method.upcase}\n#{path[/\A[^?]*/]}\n#{timestamp}\n"
    OpenSSL::HMAC.hexdigest("SHA256", secret, head.b + body.b)
  end

  # Whether these very bytes were signed with this secret, within five minutes of now. An absent header is nil or "".
  def self.verify(secret, method, path, timestamp, body, signature, now_ms = (Time.now.to_f * 1000).to_i)
    return false unless /\A[0-9]{1,15}\z/.match?(timestamp) && (now_ms - timestamp.to_i).abs <= TOLERANCE_MS

    OpenSSL.secure_compare(sign(secret, method, path, timestamp, body), signature.to_s.b.downcase)
  end
end
