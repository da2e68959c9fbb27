/** The parts that orchestrator, agent and storages are all given. */
import type { Clock } from "./clock.ts";
import type { Crypto } from "./crypto/crypto.ts";
import { type OptionRule, partWith } from "./internal/option-rules.ts";
import type { Logger } from "./logger.ts";

export const clockRule: OptionRule = partWith<Clock>({ now: true, monotonic: true, setTimer: true });

export const cryptoRule: OptionRule = partWith<Crypto>({
  randomBytes: true,
  sha256: true,
  hmac: true,
  deriveKey: true,
  equal: true,
  createSigningKeyPair: true,
  createSigner: true,
  verify: true,
  isAcceptablePublicKey: true,
  createExchangeKeyPair: true,
  exchange: true,
  seal: true,
  open: true,
});

export const loggerRule: OptionRule = partWith<Logger>({ debug: true, info: true, warn: true, error: true });
