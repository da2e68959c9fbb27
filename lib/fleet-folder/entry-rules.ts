/**
 * What a server refuses of an entry though its schema takes it, found by the functions with which the server finds it. What only the time
 * of a call decides is left out: what was right once stays right in a folder.
 */
import { z } from "zod";
import { createAssignmentInput } from "../assignments/schemas.ts";
import { isOfPlace } from "../internal/schema-issues.ts";
import { fieldOf } from "../internal/schema-keys.ts";
import type { JsonObject } from "../json.ts";
import { inWordsOfYaml } from "../module-format/yaml-text.ts";
import {
  invalidConfig,
  isReference,
  mask,
  requireConfigSize,
  toConfigIssues,
  type ConfigIssue,
} from "../notifications/channels/config-rules.ts";
import { createChannelInput } from "../notifications/schemas.ts";
import { channelTypes } from "../notifications/senders/channel-types.ts";
import type { ChannelType } from "../notifications/senders/sender.ts";
import { cronerCron } from "../schedules/croner-cron.ts";
import { requireNext } from "../schedules/schedule.ts";
import { createThresholdInput } from "../thresholds/schemas.ts";
import { requireRecovery } from "../thresholds/threshold-rules.ts";
import type { FolderKind } from "./fleet-folder.ts";
import { refusalsOf, type Refusal } from "./folder-faults.ts";
import { findTimingRefusals } from "./window-times.ts";

type Rule = (entry: JsonObject) => Refusal[];

/** Everything that is refused of an entry beside what its schema refuses: of one that has faults of its own, too. */
export function findRefusals(kind: FolderKind, entry: JsonObject): Refusal[] {
  return rules[kind]?.(entry) ?? [];
}

/** A rule over some fields; it says nothing where these have faults of their own. */
function ruleOf<Fields extends z.ZodObject>(fields: Fields, refuse: (read: z.output<Fields>) => void): Rule {
  const known = z.object(fields.shape);
  return (entry) => {
    const { success, data } = known.safeParse(entry);
    return success ? refusalsOf(() => refuse(data as z.output<Fields>)) : [];
  };
}

const rules: Partial<Readonly<Record<FolderKind, Rule>>> = {
  assignments: ruleOf(createAssignmentInput.pick({ schedule: true }), ({ schedule }) => {
    if (schedule) requireNext(cronerCron, schedule, { path: "schedule", afterMs: 0 });
  }),
  windows: findTimingRefusals,
  channels: ruleOf(createChannelInput.pick({ type: true, config: true }), ({ type, config }) => {
    requireConfigSize(config);
    const known = Object.hasOwn(channelTypes, type) ? channelTypes[type]! : null;
    const { error } = known?.config.safeParse(config) ?? {};
    const issues = error ? toConfigIssues(error) : [];
    const told = issues.filter(
      (issue) => !known?.secretFields.some((field) => isOfSecret(issue, { field, known, config })),
    );
    if (told.length > 0) throw invalidConfig(told.map((issue) => inWordsOfFolder(issue, config)));
  }),
  thresholds: ruleOf(
    createThresholdInput.pick({ condition: true, value: true, recovery_value: true }),
    ({ condition, value, recovery_value }) =>
      requireRecovery({ condition, value, ...(recovery_value !== undefined && { recovery_value }) }),
  ),
};

/** As faults of other fields are told. */
function inWordsOfFolder(issue: ConfigIssue, config: JsonObject): ConfigIssue {
  const [, field, ...deeper] = issue.path;
  const isMissing = isOfPlace(issue.kind) && deeper.length === 0 && config[String(field)] === undefined;
  return isMissing
    ? { ...issue, message: `"${String(field)}" is missing.` }
    : { ...issue, message: inWordsOfYaml(issue) };
}

/**
 * Whether a fault is one of what stands there for a secret, of which a file shows nothing but that it is a text. What the whole config
 * refuses of it, such as a password without a user, is one of the file.
 */
function isOfSecret(
  { path: [, at], kind, message }: ConfigIssue,
  { field, known, config }: { field: string; known: ChannelType; config: JsonObject },
): boolean {
  const value = config[field];
  if (at !== field || (value !== mask && !isReference(value))) return false;
  if (value !== mask && kind === "invalid_type") return false;
  const own = z.safeParse(fieldOf(known.config, field) ?? z.unknown(), value);
  return own.error !== undefined && toConfigIssues(own.error).some((issue) => issue.message === message);
}
