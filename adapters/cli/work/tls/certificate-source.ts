/** Where the certificate of a server comes from, each time that it is looked for. */
import { readFileSync } from "node:fs";
import { OrchestratorError } from "fleetwright/errors";
import { codeOf } from "../../../client/system-error.ts";
import type { Certificate } from "../../../h3/serve.ts";

/** A source of certificates. */
export interface CertificateSource {
  /** File with the authority that clients have to trust, PEM; null where that is somebody else's. */
  readonly authorityFile: string | null;
  /**
   * The certificate to show now.
   *
   * @throws {OrchestratorError} `CONFIGURATION_INVALID` where there is none that could be read.
   */
  read(): Promise<Certificate>;
}

/** How the server was told of a certificate: by its text, or by a file that holds it. */
export interface GivenPart {
  text: string;
  file: string | null;
}

/** A certificate that somebody else renews: what is in files is read again each time. */
export class GivenCertificate implements CertificateSource {
  readonly authorityFile = null;
  readonly #cert: GivenPart;
  readonly #key: GivenPart;

  constructor({ cert, key }: { cert: GivenPart; key: GivenPart }) {
    this.#cert = cert;
    this.#key = key;
  }

  async read(): Promise<Certificate> {
    return { cert: textOf(this.#cert), key: textOf(this.#key) };
  }
}

function textOf({ text, file }: GivenPart): string {
  if (file === null) return text;
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new OrchestratorError("CONFIGURATION_INVALID", {
      message: `${file} can't be read (${codeOf(cause)}).`,
      cause,
    });
  }
}
