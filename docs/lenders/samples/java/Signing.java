import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Locale;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Java 17 or newer. */
public final class Signing {
    private static final long TOLERANCE_MS = 5 * 60 * 1000;

    /** The signature of a request. The body is the very bytes that go over the wire. */
    public static String sign(String secret, String method, String path, String timestamp, byte[] body) {
        String head = method.toUpperCase(Locale.ROOT) + "\n" + path.split("\\?", 2)[0] + "\n" + timestamp + "\n";
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(UTF_8), "HmacSHA256"));
            mac.update(head.getBytes(UTF_8));
            return HexFormat.of().formatHex(mac.doFinal(body));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("Every Java has HmacSHA256.", e);
        }
    }

    /** Whether these very bytes were signed with this secret, within five minutes of now. An absent header is "". */
    public static boolean verify(
            String secret, String method, String path, String timestamp, byte[] body, String signature, long nowMs) {
        if (!timestamp.matches("[0-9]{1,15}") || Math.abs(nowMs - Long.parseLong(timestamp)) > TOLERANCE_MS) {
            return false;
        }
        String expected = sign(secret, method, path, timestamp, body);
        return MessageDigest.isEqual(expected.getBytes(UTF_8), signature.toLowerCase(Locale.ROOT).getBytes(UTF_8));
    }
}
