/** Secret fields of channels in a fleet folder: a name of a secret, or what stands for the one that the server keeps, never a value. */
import type { Issue } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import { isReference, mask } from "../notifications/channels/config-rules.ts";
import { channelTypes } from "../notifications/senders/channel-types.ts";

const sayInstead =
  "The server reads it back to nobody, so that nobody could tell whether it differs: write secret:NAME, or ******** for what is there.";

/** Secret fields that have a value of their own, as far as the type of the channel is known here. */
export function findPlainSecrets(channel: JsonObject): Issue[] {
  const type = String(channel["type"]);
  const fields = Object.hasOwn(channelTypes, type) ? channelTypes[type]!.secretFields : [];
  return plainOf(channel, fields);
}

/** The same for what the server hides of it, whatever its type. */
export function findHiddenBefore(channel: JsonObject, present: JsonObject): Issue[] {
  const before = configOf(present);
  return plainOf(
    channel,
    Object.keys(before).filter((field) => before[field] === mask),
  );
}

/** Secret fields of a new channel for which no value is there that could stay. */
export function findUnkept(channel: JsonObject, present: JsonObject | null): Issue[] {
  const before = present ? configOf(present) : {};
  return Object.entries(configOf(channel))
    .filter(([field, value]) => value === mask && before[field] === undefined)
    .map(([field]) => ({
      path: ["config", field],
      message: "The server has no value that could stay: write secret:NAME.",
    }));
}

function plainOf(channel: JsonObject, fields: readonly string[]): Issue[] {
  const config = configOf(channel);
  return fields
    .filter((field) => config[field] !== undefined && !isHidden(config[field]))
    .map((field) => ({ path: ["config", field], message: sayInstead }));
}

function configOf(channel: JsonObject): JsonObject {
  const config = channel["config"];
  return typeof config === "object" && config !== null && !Array.isArray(config) ? config : {};
}

function isHidden(value: Json | undefined): boolean {
  return value === mask || isReference(value);
}
