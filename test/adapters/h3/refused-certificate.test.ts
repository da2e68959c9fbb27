/** A certificate that can't be used is refused in words that say which of the two files is wrong, and how. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:tls";
import { beforeAll, expect, it, onTestFinished } from "vitest";
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

it.each<[string, (pem: string) => string]>([
  ["what a tool tells of it above", (pem) => `Bag Attributes\n    friendlyName: server\n${pem}`],
  ["a text of it above", (pem) => `Certificate:\n    Data:\n        Version: 3 (0x2)\n${pem}`],
  ["a mark of the byte order", (pem) => `\uFEFF${pem}`],
  ["lines that end as in Windows", (pem) => pem.replaceAll("\n", "\r\n")],
])("a pair with %s is used as it is", async (_what, write) => {
  const app = createApp({ router: toyRouter, createContext: toyContexts(new Toy()), isReady: () => true });
  const tls = { cert: write(own.cert), key: write(own.key) };
  const server = await listenApp(app, { port: 0, tls });
  onTestFinished(() => server.close());
  const socket = connect({ port: server.port, host: "127.0.0.1", ca: own.cert });
  await once(socket, "secureConnect");
  const shown = socket.getPeerX509Certificate()?.fingerprint256;
  socket.destroy();
  expect(shown).toBe(new X509Certificate(own.cert).fingerprint256);
});

it("a key behind which stands one that needs a passphrase is used", async () => {
  const app = createApp({ router: toyRouter, createContext: toyContexts(new Toy()), isReady: () => true });
  const tls = { ...own, key: `${own.key}\n${encrypted("pkcs8")}` };
  const server = await listenApp(app, { port: 0, tls });
  expect(server.url).toMatch(/^https:/);
  await server.close();
});
