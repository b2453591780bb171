import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** The paths of PEM files. */
export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** A certificate authority that nobody else trusts. */
export interface PrivateCa {
  /** The path of its certificate. */
  caFile: string;
  /** Issues a certificate. `name` is its common name; `hosts` are names such as `DNS:localhost` or `IP:127.0.0.1`. */
  issue(name: string, hosts?: readonly string[]): Promise<CertificateFiles>;
}

const run = promisify(execFile);
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
const DAYS = ["-days", "2"];

/** Makes a certificate authority with `openssl`, for tests of TLS. All files are written to `folder`. */
export async function privateCa(folder: string, name = "Private CA"): Promise<PrivateCa> {
  const path = (file: string) => join(folder, `${name.toLowerCase().replaceAll(/\W+/g, "-")}-${file}`);
  const [caFile, caKey] = [path("ca.crt"), path("ca.key")];
  await run("openssl", ["req", "-x509", ...NEW_KEY, ...DAYS, "-subj", `/CN=${name}`, "-keyout", caKey, "-out", caFile]);
  return {
    caFile,
    async issue(subject, hosts = []) {
      const [certFile, keyFile] = [path(`${subject}.crt`), path(`${subject}.key`)];
      const [request, extensions] = [path(`${subject}.csr`), path(`${subject}.ext`)];
      writeFileSync(extensions, hosts.length === 0 ? "" : `subjectAltName=${hosts.join(",")}\n`);
      await run("openssl", ["req", "-new", ...NEW_KEY, "-subj", `/CN=${subject}`, "-keyout", keyFile, "-out", request]);
      const signer = ["-CA", caFile, "-CAkey", caKey, "-CAcreateserial", "-extfile", extensions];
      await run("openssl", ["x509", "-req", "-in", request, ...signer, ...DAYS, "-out", certFile]);
      return { certFile, keyFile };
    },
  };
}
