import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** For tests: a certificate and its key, in PEM. */
export interface Certificate {
  readonly name: string;
  readonly cert: string;
  readonly key: string;
}

/** For tests: how to make a certificate. */
export interface CertificateRequest {
  readonly name: string;
  /** Default: the certificate signs itself. */
  readonly issuer?: Certificate;
  /** The lines of OpenSSL's extension section. Default: a certificate for `lender.test`. */
  readonly extensions?: readonly string[];
  /** The arguments of `openssl genpkey`. Default: P-256. */
  readonly key?: readonly string[];
  readonly digest?: "sha1" | "sha256";
  readonly startsInDays?: number;
  readonly days?: number;
}

/** For tests: makes certificates with the program `openssl`, in a folder of its own. */
export interface CertificateMaker extends AsyncDisposable {
  make(request: CertificateRequest): Promise<Certificate>;
}

export const FOR_LENDER = ["subjectAltName=DNS:lender.test"];
export const FOR_AUTHORITY = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"];
export const WEAK_RSA = ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"];
const P_256 = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
const DAY_MS = 86_400_000;

export async function createCertificateMaker(): Promise<CertificateMaker> {
  const folder = await mkdtemp(join(tmpdir(), "certificates-"));
  const fileOf = (name: string, ending: string) => join(folder, `${name}.${ending}`);
  const openssl = (...args: string[]) => run("openssl", args, { cwd: folder });
  return {
    async make({ name, issuer, extensions = FOR_LENDER, key = P_256, digest = "sha256", startsInDays = 0, days = 30 }) {
      const [certFile, keyFile, requestFile] = [fileOf(name, "pem"), fileOf(name, "key"), fileOf(name, "csr")];
      await openssl("genpkey", ...key, "-out", keyFile);
      await openssl("req", "-new", "-key", keyFile, "-subj", `/CN=${name}`, "-out", requestFile);
      const signer = issuer?.name ?? name;
      const settings = caSettings(folder, extensions);
      await writeFile(fileOf(name, "cnf"), settings);
      await writeFile(fileOf("index", "txt"), "");
      const times = ["-startdate", utcTime(startsInDays), "-enddate", utcTime(startsInDays + days)];
      const signing = issuer ? ["-cert", fileOf(signer, "pem")] : ["-selfsign"];
      const args = [
        "-config",
        fileOf(name, "cnf"),
        "-keyfile",
        fileOf(signer, "key"),
        "-in",
        requestFile,
        "-md",
        digest,
      ];
      await openssl("ca", "-batch", "-notext", ...args, ...signing, ...times, "-out", certFile);
      return { name, cert: await readFile(certFile, "utf8"), key: await readFile(keyFile, "utf8") };
    },
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true });
    },
  };
}

function caSettings(folder: string, extensions: readonly string[]): string {
  return [
    "[ca]",
    "default_ca=one",
    "[one]",
    `database=${folder}/index.txt`,
    `new_certs_dir=${folder}`,
    "policy=any",
    "rand_serial=yes",
    "x509_extensions=extensions",
    "unique_subject=no",
    "[any]",
    "commonName=supplied",
    "[extensions]",
    "subjectKeyIdentifier=hash",
    ...extensions,
    "",
  ].join("\n");
}

/** OpenSSL's form of a time: 20261128120000Z. An hour earlier than asked, because clocks differ. */
function utcTime(inDays: number): string {
  const at = new Date(Date.now() + inDays * DAY_MS - 3_600_000);
  return `${at.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`;
}
