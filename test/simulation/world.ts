/** What everything in one simulation shares. */
import type { Crypto } from "../../lib/crypto/crypto.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import type { LogFields, Logger } from "../../lib/logger.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { seededRandom } from "../support/random.ts";
import type { Life } from "./life.ts";
import { Network } from "./network.ts";

/** Time, chance and the network of one simulation, and what was found wrong in it. */
export class World {
  readonly clock = new FakeClock();
  readonly random: () => number;
  readonly crypto: Crypto;
  readonly network: Network;
  /** What happened, for people who look for the cause of a fault. */
  readonly trace: string[] = [];
  /** What must not happen and did. */
  readonly faults: string[] = [];
  /** What processes that were killed still do; nobody waits for it but the end. */
  readonly remains: Promise<unknown>[] = [];

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.network = new Network(this.clock, this.random);
    this.crypto = seededCrypto(this.random);
  }

  note(line: string): void {
    this.trace.push(`${(this.clock.monotonic() / 1000).toFixed(3)} s: ${line}`);
  }

  /** One of several, by chance. */
  pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.random() * items.length)];
  }

  /** A whole number between two, inclusive. */
  between(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  /** Lets time pass until something has ended; what takes longer than an hour never ends. */
  async drive<T>(what: string, work: Promise<T>): Promise<T | undefined> {
    let isPending = true;
    const settled = work.finally(() => (isPending = false));
    settled.catch(() => {});
    for (let passedMs = 0; isPending && passedMs < 3_600_000; passedMs += 200) await this.clock.advance(200);
    if (!isPending) return settled;
    this.faults.push(`${what} never ended`);
    return undefined;
  }

  /** Hears what a process logs and did not expect itself. */
  loggerOf(who: string, life: Life): Logger {
    return {
      ...silentLogger,
      error: (message, fields = {}) => {
        if (!life.isOver && isUnexpected(fields))
          this.faults.push(`${who} logged: ${message} ${describe(fields)}`);
      },
    };
  }
}

function seededCrypto(random: () => number): Crypto {
  const randomBytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => random() * 256);
  return {
    ...nodeCrypto,
    randomBytes,
    createSigningKeyPair() {
      const secretKey = randomBytes(32);
      return { secretKey, publicKey: nodeCrypto.createSigner(secretKey).publicKey };
    },
  };
}

/** Failures of the disk, the network and the machine have names; what has none is a mistake in the program. */
function isUnexpected({ error, code }: LogFields): boolean {
  if (error === undefined) return code === "INTERNAL";
  return !isOrchestratorError(error) || error.code === "INTERNAL" || error.code === "NOT_FOUND";
}

function describe({ error, ...rest }: LogFields): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error ?? "");
  return `${JSON.stringify(rest)} ${text}`;
}
