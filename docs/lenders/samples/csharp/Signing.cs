using System;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;

public static class Signing
{
    private const long ToleranceMs = 5 * 60 * 1000;

    /// <summary>The signature of a request. The body is the very bytes that go over the wire.</summary>
    public static string Sign(string secret, string method, string path, string timestamp, byte[] body)
    {
        var head = method.ToUpperInvariant() + "\n" + path.Split('?')[0] + "\n" + timestamp + "\n";
        using (var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(secret)))
        {
            var hash = hmac.ComputeHash(Encoding.UTF8.GetBytes(head).Concat(body).ToArray());
            return BitConverter.ToString(hash).Replace("-", "").ToLowerInvariant();
        }
    }

    /// <summary>
    /// Whether these very bytes were signed with this secret, within five minutes of now. An absent header is "".
    /// </summary>
    public static bool Verify(
        string secret, string method, string path, string timestamp, byte[] body, string signature, long nowMs)
    {
        if (!Regex.IsMatch(timestamp, @"\A[0-9]{1,15}\z")) return false;
        if (Math.Abs(nowMs - long.Parse(timestamp)) > ToleranceMs) return false;
        var expected = Encoding.UTF8.GetBytes(Sign(secret, method, path, timestamp, body));
        return CryptographicOperations.FixedTimeEquals(expected, Encoding.UTF8.GetBytes(signature.ToLowerInvariant()));
    }
}
