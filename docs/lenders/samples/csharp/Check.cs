using System;
using System.IO;
using System.Text;

/// <summary>
/// Reads cases from stdin, prints the signature and the verdict on each; CI runs it over the vectors.
/// A case is seven fields, each with a NUL behind it; the body is in base64.
/// </summary>
public static class Check
{
    public static void Main()
    {
        var fields = new StreamReader(Console.OpenStandardInput(), Encoding.UTF8).ReadToEnd().Split('\0');
        for (var i = 0; i + 7 < fields.Length; i += 7)
        {
            string secret = fields[i], method = fields[i + 1], path = fields[i + 2], timestamp = fields[i + 3];
            var body = Convert.FromBase64String(fields[i + 4]);
            var nowMs = long.Parse(fields[i + 6]);
            var verdict = Signing.Verify(secret, method, path, timestamp, body, fields[i + 5], nowMs);
            Console.WriteLine(Signing.Sign(secret, method, path, timestamp, body) + (verdict ? " true" : " false"));
        }
    }
}
