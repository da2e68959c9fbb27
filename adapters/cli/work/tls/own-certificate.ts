/**
 * The certificate that a server makes for itself, in the folder `tls` of its data:
 *
 *   authority.pem   the authority and its private key, for ten years
 *   ca.pem          the authority alone: what clients are given to trust
 *   server.pem      the certificate of the server and its private key, for 90 days
 *
 * Clients trust the authority, so that a new certificate of the server asks nothing of them.
 */
import { X509Certificate } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { OrchestratorError } from "fleetwright/errors";
import type { Certificate } from "../../../h3/serve.ts";
import { makeFolders } from "../../../sync/make-folders.ts";
import { readOwnFile, replacePrivateFile } from "../../private-file.ts";
import type { createAuthority } from "./authority.ts";
import type { CertificateSource } from "./certificate-source.ts";

/** A new certificate is made when so much of the time of one is left. */
const renewalMs = 30 * 86_400_000;
/** Names of one certificate: a machine may have an address for each of its containers. */
const mostNames = 100;

/** What the server's own certificate is made for. */
export interface OwnCertificateOptions {
  dataDir: string;
  /** Where the server listens. */
  host: string;
  /** Further names that it has. */
  names: readonly string[];
  now(): number;
}

/** The certificate that a server makes for itself. */
export class OwnCertificate implements CertificateSource {
  readonly authorityFile: string;
  readonly #folder: string;
  readonly #options: OwnCertificateOptions;

  constructor(options: OwnCertificateOptions) {
    this.#options = options;
    this.#folder = join(options.dataDir, "tls");
    this.authorityFile = join(this.#folder, "ca.pem");
  }

  /** The certificate; a new one where there is none, less than 30 days are left of it, or this machine has got another name or address. */
  async read(): Promise<Certificate> {
    // A server that runs when its package is replaced could not load it for the renewal any more.
    const authorities = await import("./authority.ts");
    makeFolders(this.#folder, 0o700);
    const authority = await this.#authority(authorities.createAuthority);
    const path = join(this.#folder, "server.pem");
    const names = this.#names();
    // One that is damaged is made anew: the authority alone is worth keeping.
    const before = existsSync(path) ? parse(path) : null;
    if (before && this.#isGood(before, { authority, names })) return before;
    const made = await authorities.issueCertificate({ authority, names, nowMs: this.#options.now() });
    replacePrivateFile(path, made.key + made.cert);
    return made;
  }

  async #authority(create: typeof createAuthority): Promise<Certificate> {
    const path = join(this.#folder, "authority.pem");
    if (!existsSync(path)) {
      const made = await create(`Fleetwright of ${hostname()}`.slice(0, 50), this.#options.now());
      replacePrivateFile(path, made.key + made.cert);
    }
    const authority = parse(path);
    if (!authority) throw damaged(path);
    if (!existsSync(this.authorityFile) || readOwnFile(this.authorityFile) !== authority.cert)
      writeFileSync(this.authorityFile, authority.cert, { mode: 0o644 });
    return authority;
  }

  #isGood(
    { cert }: Certificate,
    { authority, names }: { authority: Certificate; names: readonly string[] },
  ): boolean {
    const made = new X509Certificate(cert);
    const issuer = new X509Certificate(authority.cert);
    if (!made.checkIssued(issuer) || !made.verify(issuer.publicKey)) return false;
    const now = this.#options.now();
    const [from, to] = [Date.parse(made.validFrom), Date.parse(made.validTo)];
    // Not one that is as good as its authority: a new one would have no more.
    const isOver = to - now < renewalMs && to < Date.parse(issuer.validTo);
    if (isOver || from > now) return false;
    return names.every(
      (name) => (isIP(name) === 0 ? made.checkHost(name) : made.checkIP(name)) !== undefined,
    );
  }

  /** Names and addresses by which this machine may be reached. */
  #names(): string[] {
    const { host, names } = this.#options;
    const addresses = Object.values(networkInterfaces()).flatMap((each = []) =>
      // An address of one link has no meaning without that link.
      each.filter(({ scopeid }) => !scopeid).map(({ address }) => address),
    );
    const all = [...names, hostname(), host, "localhost", "127.0.0.1", "::1", ...addresses];
    return [...new Set(all.flatMap(toNames))].slice(0, mostNames);
  }
}

/**
 * A name as a certificate has it and Node finds it there again; none where a certificate can't name it. An underscore is in names of
 * machines, though not in those that are registered. An IPv4 address that is written as one of IPv6 is reached by both.
 */
function toNames(name: string): string[] {
  if (isIP(name) === 6) {
    if (name.includes("%")) return [];
    const address = new URL(`http://[${name}]`).hostname.slice(1, -1);
    const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(address) ?? [];
    if (high === undefined || low === undefined) return [address];
    const bytes = [high, low]
      .map((group) => Number.parseInt(group, 16))
      .flatMap((group) => [group >> 8, group & 255]);
    return [bytes.join("."), address];
  }
  return isIP(name) === 4 || /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?$/.test(name) ? [name] : [];
}

/** A private key and its certificate in one file, so that neither is ever there without the other. */
function parse(path: string): Certificate | null {
  const text = readOwnFile(path);
  const [key, cert] = [
    /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/,
    /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/,
  ].map((part) => part.exec(text)?.[0]);
  return key !== undefined && cert !== undefined && isCertificate(cert) ? { key, cert } : null;
}

function damaged(path: string): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", {
    message: `${path} is damaged: it has no private key with its certificate. Remove it, and there is a new one, which every client has to be given.`,
  });
}

function isCertificate(cert: string): boolean {
  try {
    return new X509Certificate(cert).subject !== undefined;
  } catch {
    return false;
  }
}
