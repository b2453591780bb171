# Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.
# A case is seven fields, each with a NUL behind it; the body is in base64.
require_relative "signing"

fields = $stdin.read.force_encoding("UTF-8").split("\0")
fields.each_slice(7) do |secret, method, path, timestamp, body, signature, now_ms|
  request = [secret, method, path, timestamp, body.unpack1("m")]
  puts "#{Signing.sign(*request)} #{Signing.verify(*request, signature, now_ms.to_i)}"
end
