/** A certificate for 127.0.0.1, made for one test. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const command =
  "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout - -out - -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";

/** Makes a key and a self-signed certificate, as PEM text. */
export async function createCertificate(): Promise<{ cert: string; key: string }> {
  const { stdout } = await promisify(execFile)("openssl", command.split(" "));
  const part = (name: string): string =>
    new RegExp(`-----BEGIN ${name}-----[^-]*-----END ${name}-----`).exec(stdout)?.[0] ?? "";
  return { key: part("PRIVATE KEY"), cert: part("CERTIFICATE") };
}
