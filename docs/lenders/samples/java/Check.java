import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.util.Base64;

/**
 * Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.
 * A case is seven fields, each with a NUL behind it; the body is in base64.
 */
public final class Check {
    public static void main(String[] args) throws IOException {
        String[] fields = new String(System.in.readAllBytes(), UTF_8).split("\0");
        for (int i = 0; i < fields.length; i += 7) {
            String secret = fields[i], method = fields[i + 1], path = fields[i + 2], timestamp = fields[i + 3];
            byte[] body = Base64.getDecoder().decode(fields[i + 4]);
            long nowMs = Long.parseLong(fields[i + 6]);
            boolean verdict = Signing.verify(secret, method, path, timestamp, body, fields[i + 5], nowMs);
            System.out.println(Signing.sign(secret, method, path, timestamp, body) + " " + verdict);
        }
    }
}
