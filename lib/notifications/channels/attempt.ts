/** One attempt to deliver one message, whatever the type of the channel does. */
import type { Context } from "../../context.ts";
import { isOrchestratorError, type OrchestratorError } from "../../errors.ts";
import { startOf } from "../../internal/canonical-json.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { orAborted, TimeLimit } from "../outbound/time-limit.ts";
import type { Attempt, Message } from "../senders/sender.ts";
import { oneLine } from "../senders/text.ts";
import type { ChannelConfigs, Configured } from "./channel-config.ts";
import { inWordsOf, type Template } from "./template.ts";

/** Longest that an attempt may take, milliseconds: types end theirs before. */
const longestMs = 120_000;
const mostErrorCharacters = 500;

/** What attempts are made with. */
export interface Attempting {
  context: Context;
  configs: ChannelConfigs;
  outbound: Outbound;
  /** Ends attempts. */
  signal: AbortSignal;
}

/** Tries once. Never rejects: what goes wrong is in the answer, and nothing of it is secret. */
export async function attempt(
  { context, configs, outbound, signal }: Attempting,
  channel: Configured & { template?: Template },
  message: Message,
): Promise<Attempt> {
  const { clock, logger } = context;
  const startedAt = clock.monotonic();
  const failed = (error: string, permanent: boolean): Attempt => ({
    delivered: false,
    error,
    ...(permanent && { permanent }),
    duration_ms: Math.round(clock.monotonic() - startedAt),
  });
  let config: JsonObject;
  try {
    config = await configs.read(channel);
  } catch (error) {
    if (!isOrchestratorError(error)) throw error;
    const isTold = error.code === "VALIDATION_FAILED" || error.code === "SECRET_UNAVAILABLE";
    // A secret that is missing may be set; a config that its type refuses stays so.
    return failed(
      isTold ? wordsOf(error) : "the channel's config can't be read",
      error.code === "VALIDATION_FAILED",
    );
  }
  const type = configs.typeOf(channel.type);
  using limit = new TimeLimit(clock, longestMs, { within: signal, error: "the attempt took too long" });
  try {
    const sent = type.send(inWordsOf(channel.template, message), config, {
      clock,
      signal: limit.signal,
      outbound,
    });
    const outcome = await orAborted(sent, limit.signal);
    if (outcome.error === undefined) return outcome;
    return { ...outcome, error: cleaned(outcome.error, secretsIn(config, type.secretFields)) };
  } catch (error) {
    if (!limit.signal.aborted) logger.error("A type of channels failed.", { error, type: channel.type });
    return failed(
      limit.signal.aborted ? "the attempt took too long" : "the type of the channel failed",
      false,
    );
  }
}

function wordsOf({ message, issues }: OrchestratorError): string {
  const [issue] = issues;
  return issue ? `${issue.path.join(".")} ${issue.message}` : message;
}

/** An error on one line, and without what is secret. */
function cleaned(error: string, secrets: readonly string[]): string {
  const told = secrets.reduce((text, secret) => text.replaceAll(secret, "********"), error);
  return startOf(oneLine(told), mostErrorCharacters);
}

/** Shorter ones would take words apart. */
const leastSecretCharacters = 4;

function secretsIn(config: JsonObject, fields: readonly string[]): string[] {
  const textsOf = (value: Json | undefined): string[] => {
    if (typeof value === "string") return value.length < leastSecretCharacters ? [] : [value];
    return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
  };
  return fields.flatMap((field) => textsOf(config[field]));
}
