/** A certificate that can't be used is refused in words that say which of the two files is wrong, and how. */
import { createPrivateKey } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { createApp } from "../../../adapters/h3/app.ts";
import { listenApp, type Certificate } from "../../../adapters/h3/serve.ts";
import { createCertificate } from "../../support/certificate.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

let [own, other] = [
  { cert: "", key: "" },
  { cert: "", key: "" },
];
beforeAll(async () => {
  [own, other] = [await createCertificate(), await createCertificate()];
});

const encrypted = (type: "pkcs8" | "sec1"): string =>
  createPrivateKey(own.key)
    .export({ type, format: "pem", cipher: "aes-128-cbc", passphrase: "secret" })
    .toString();

it.each<[string, () => Partial<Certificate>, string]>([
  ["an empty file", () => ({ cert: "" }), "the certificate is not there as PEM text, or not whole"],
  [
    "a file of DER",
    () => ({ cert: "0\u0082\u0001" }),
    "the certificate is not there as PEM text, or not whole",
  ],
  ["half a file", () => ({ cert: own.cert.slice(0, 300) }), "the certificate is not there as PEM text"],
  ["an empty key", () => ({ key: "" }), "the private key is not there as PEM text, or not whole"],
  ["half a key", () => ({ key: own.key.slice(0, 100) }), "the private key is not there as PEM text"],
  ["an encrypted key", () => ({ key: encrypted("pkcs8") }), "the private key needs a passphrase"],
  ["an encrypted key, written as of old", () => ({ key: encrypted("sec1") }), "needs a passphrase"],
  ["another's key", () => ({ key: other.key }), "the first certificate is not of this private key"],
  [
    "a chain that begins with the authority",
    () => ({ cert: `${other.cert}\n${own.cert}` }),
    "(the server's own comes first, then those of authorities)",
  ],
])("%s", async (_what, wrong, words) => {
  const app = createApp({ router: toyRouter, createContext: toyContexts(new Toy()), isReady: () => true });
  await expect(listenApp(app, { port: 0, tls: { ...own, ...wrong() } })).rejects.toMatchObject({
    code: "CONFIGURATION_INVALID",
    message: expect.stringContaining(words),
  });
});
