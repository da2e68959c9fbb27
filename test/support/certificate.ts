/** Certificates, each made for one test. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout - -out - -days 2";

/** Makes a key and a self-signed certificate, as PEM text. Of 127.0.0.1 unless another name is given (`DNS:host`). */
export async function createCertificate(name = "IP:127.0.0.1"): Promise<{ cert: string; key: string }> {
  const subject = ["-subj", "/CN=localhost", "-addext", `subjectAltName=${name}`];
  const { stdout } = await promisify(execFile)("openssl", [...command.split(" "), ...subject]);
  const part = (name: string): string =>
    new RegExp(`-----BEGIN ${name}-----[^-]*-----END ${name}-----`).exec(stdout)?.[0] ?? "";
  return { key: part("PRIVATE KEY"), cert: part("CERTIFICATE") };
}
