/** Makes certificates: an authority that signs itself, and those of servers that it signs. RSA of 2,048 bits, SHA-256 (RFC 5280). */
import { generateKeyPair, randomBytes } from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import forge from "node-forge";
import type { Certificate } from "../../../h3/serve.ts";

const dayMs = 86_400_000;
/** How long each is good, days: browsers take none of a server that is good for longer than 398. */
const authorityDays = 3_650;
const serverDays = 90;
/** Begins a day early: clocks of others may be behind. */
const earlyMs = dayMs;

const makeKeys = promisify(generateKeyPair);

/** Makes an authority; its name is followed by random digits, so that no two are taken for each other. */
export async function createAuthority(name: string, nowMs: number): Promise<Certificate> {
  const { keys, key } = await newKeys();
  const subject = [{ name: "commonName", value: `${name} ${randomBytes(4).toString("hex")}` }];
  const certificate = begin(keys, { nowMs, days: authorityDays });
  certificate.setSubject(subject);
  certificate.setIssuer(subject);
  certificate.setExtensions([
    { name: "basicConstraints", critical: true, cA: true, pathLenConstraint: 0 },
    { name: "keyUsage", critical: true, keyCertSign: true, cRLSign: true },
    { name: "subjectKeyIdentifier" },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(key), forge.md.sha256.create());
  return { cert: toPem(certificate), key };
}

/** What a certificate of a server is made of. */
export interface ServerCertificateOptions {
  authority: Certificate;
  /** Host names and IP addresses that it is good for, the most common first. */
  names: readonly string[];
  nowMs: number;
}

/** Makes a certificate of a server. Good for 90 days, and no longer than its authority. */
export async function issueCertificate(options: ServerCertificateOptions): Promise<Certificate> {
  const { authority, names, nowMs } = options;
  const issuer = forge.pki.certificateFromPem(authority.cert);
  const { keys, key } = await newKeys();
  const certificate = begin(keys, { nowMs, days: serverDays });
  const { validity } = certificate;
  if (validity.notAfter > issuer.validity.notAfter) validity.notAfter = issuer.validity.notAfter;
  // RFC 5280: a common name has 64 characters at most. What counts are the names below.
  certificate.setSubject([{ name: "commonName", value: (names[0] ?? "fleetwright").slice(0, 64) }]);
  certificate.setIssuer(issuer.subject.attributes);
  certificate.setExtensions([
    { name: "basicConstraints", critical: true, cA: false },
    { name: "keyUsage", critical: true, digitalSignature: true, keyEncipherment: true },
    { name: "extKeyUsage", serverAuth: true },
    { name: "subjectKeyIdentifier" },
    { name: "authorityKeyIdentifier", keyIdentifier: issuer.generateSubjectKeyIdentifier().getBytes() },
    { name: "subjectAltName", altNames: names.map(toAltName) },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(authority.key), forge.md.sha256.create());
  return { cert: toPem(certificate), key };
}

/** A certificate without names, signature and uses. */
function begin(
  keys: forge.pki.PublicKey,
  { nowMs, days }: { nowMs: number; days: number },
): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys;
  certificate.serialNumber = toSerialNumber(randomBytes(16));
  certificate.validity.notBefore = new Date(nowMs - earlyMs);
  certificate.validity.notAfter = new Date(nowMs + days * dayMs);
  return certificate;
}

/**
 * A serial number of 16 bytes in hex. Its first byte is from 0x40 to 0x7f: the first bit of a number in DER is its sign, and one that begins
 * with zeros must be written without them (X.690, 8.3.2), or nobody reads the certificate.
 */
export function toSerialNumber(bytes: Uint8Array): string {
  const [first = 0, ...rest] = bytes;
  return Buffer.from([(first & 0x3f) | 0x40, ...rest]).toString("hex");
}

async function newKeys(): Promise<{ keys: forge.pki.PublicKey; key: string }> {
  const { publicKey, privateKey } = await makeKeys("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { keys: forge.pki.publicKeyFromPem(publicKey), key: privateKey };
}

/** RFC 5280, 4.2.1.6: 2 is a DNS name, 7 an address. */
function toAltName(name: string): object {
  return isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name };
}

function toPem(certificate: forge.pki.Certificate): string {
  return forge.pki.certificateToPem(certificate).replaceAll("\r\n", "\n");
}
