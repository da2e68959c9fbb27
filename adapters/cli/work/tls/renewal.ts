/** Has a server show the newest certificate of its source, without a restart. */
import { X509Certificate } from "node:crypto";
import type { Clock, Logger, Timer } from "fleetwright";
import { isOrchestratorError, OrchestratorError } from "fleetwright/errors";
import type { Certificate, RunningServer } from "../../../h3/index.ts";
import type { CertificateSource } from "./certificate-source.ts";

/** How often the source is asked, milliseconds. */
const lookMs = 10_000;
/** An end that is so near is told, and how often. */
const nearMs = 14 * 86_400_000;
const tellMs = 86_400_000;

/** What a renewal works on. */
export interface RenewalOptions {
  server: Pick<RunningServer, "renewCertificate">;
  source: CertificateSource;
  /** What the server shows already. */
  shown: Certificate;
  clock: Clock;
  logger: Logger;
}

/** Asks the source every 10 seconds, and has the server show what is new. One that can't be used is told once, and the one before stays. */
export class CertificateRenewal {
  readonly #options: RenewalOptions;
  #shown: Certificate;
  #fault = "";
  #toldAtMs = -Infinity;
  #timer: Timer;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#shown = options.shown;
    this.#tellEnd();
    this.#timer = this.#wait();
  }

  /** Looks no more. */
  stop(): void {
    this.#timer.cancel();
  }

  #wait(): Timer {
    return this.#options.clock.setTimer(lookMs, () => {
      this.#timer = this.#wait();
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    const { source, server, logger } = this.#options;
    try {
      const found = await source.read();
      if (found.cert !== this.#shown.cert || found.key !== this.#shown.key) {
        const valid_to = endOf(found).toISOString();
        server.renewCertificate(found);
        this.#shown = found;
        this.#toldAtMs = -Infinity;
        logger.info("The server shows a new certificate.", { valid_to });
      }
      this.#fault = "";
    } catch (error) {
      const fault = isOrchestratorError(error) ? error.message : String(error);
      // The two files of a pair are written one after the other: what does not fit is often whole at the next look.
      if (fault !== this.#fault)
        logger.warn("The new certificate can't be used; the one before stays.", { fault });
      this.#fault = fault;
    }
    this.#tellEnd();
  }

  #tellEnd(): void {
    const { clock, logger } = this.#options;
    const end = endOf(this.#shown);
    if (end.getTime() - clock.now() > nearMs || clock.monotonic() - this.#toldAtMs < tellMs) return;
    this.#toldAtMs = clock.monotonic();
    const message =
      end.getTime() > clock.now()
        ? "The certificate of the server ends soon."
        : "The certificate of the server has ended.";
    logger.warn(message, { valid_to: end.toISOString() });
  }
}

function endOf({ cert }: Certificate): Date {
  try {
    return new Date(new X509Certificate(cert).validTo);
  } catch (cause) {
    // OpenSSL's own words don't name the file.
    const message = "The certificate is not there as PEM text, or not whole.";
    throw new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
  }
}
