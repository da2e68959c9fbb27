/** From a resource as a module writes it to one as an agent gets it. Pure: templates are evaluated before. */
import { z } from "zod";
import type { Issue } from "../errors.ts";
import { didYouMean } from "../internal/check-options.ts";
import { inPlainWords, withoutEchoes } from "../internal/schema-issues.ts";
import type { JsonObject } from "../json.ts";
import { identityKeyAmong, type ResourceTypes } from "./resource-type.ts";
import { type ResolvedResource, retrySchema } from "./resource.ts";
import { resourceTypes } from "./resources/index.ts";
import { triggerProperties, triggers, watchesAny } from "./triggers.ts";

const resourceIdSchema = z
  .string()
  .min(1)
  .max(300)
  // eslint-disable-next-line no-control-regex -- ids are printed
  .regex(/^[^\u0000-\u001f\u007f]+$/, "must not hold control characters");

/** Properties that every resource has, whatever its type. The rest of a definition belongs to the type. */
export const commonPropertiesSchema = z.object({
  /** Unique within its module. Default: `type:identity`. */
  id: resourceIdSchema.optional(),
  type: z.string().min(1).max(64),
  /** Selector over tags, attributes and params of the module; where it does not hold the resource is skipped. */
  when: z.string().min(1).max(4096).optional(),
  /** Ids of the same module that must have succeeded before. */
  requires: z.array(resourceIdSchema).max(2000).default([]),
  /** Ids of the same module whose change makes this one run. */
  run_on: z.array(resourceIdSchema).max(2000).default([]),
  /** Ids of the same module whose change makes this service reload its configuration. */
  reload_on: z.array(resourceIdSchema).max(2000).optional(),
  /** Ids of the same module whose change makes this service restart. */
  restart_on: z.array(resourceIdSchema).max(2000).optional(),
  /** Longest time for one try, seconds. Default 600. */
  timeout_seconds: z.number().positive().max(86_400).optional(),
  /** Tries again after a failure. Default: one try. */
  retry: retrySchema.optional(),
  /** After a failure: "stop_all" ends the run, "stop" its module, "continue" skips only what depends on it. */
  on_failure: z.enum(["stop_all", "stop", "continue"]).default("stop"),
  /**
   * What becomes of it when it is not desired any more: "restore" brings back what stood before our first change, "keep" lets go of
   * it and leaves it as it is. Default: that of its module.
   */
  removal: z.enum(["restore", "keep"]).optional(),
  /** Properties whose difference a drift check leaves out. */
  ignore_drift: z.array(z.string().max(100)).max(100).default([]),
  /** Hides its values in every result, log, error and output. */
  sensitive: z.boolean().default(false),
});

const commonNames: ReadonlySet<string> = new Set(Object.keys(commonPropertiesSchema.shape));

/** Where a definition comes from. */
export interface ResolveOptions {
  /** Name of the module. */
  module: string;
  /** Set where `when` does not hold on the agent. */
  skip?: "condition";
  /** What becomes of it in the end, where it does not say so itself. Default "restore". */
  removal?: "restore" | "keep";
  /** Types to know. Default: all that ship with the package. */
  types?: ResourceTypes;
}

/** A resolved resource, or why there is none: one issue for each fault, with its path in the definition. */
export type Resolution = { ok: true; resource: ResolvedResource } | { ok: false; issues: Issue[] };

/** What is said of a type that does not exist, with the name that may have been meant. */
export function noSuchType(name: string, types: ResourceTypes): string {
  return `There is no resource type "${name}"${didYouMean(name, types.keys()) || "."}`;
}

/** Takes a definition apart into the properties of every resource and those of its type. */
export function splitDefinition(definition: JsonObject): { common: JsonObject; spec: JsonObject } {
  const common: JsonObject = {};
  const spec: JsonObject = {};
  for (const [name, value] of Object.entries(definition)) {
    (commonNames.has(name) ? common : spec)[name] = value;
  }
  return { common, spec };
}

/** Checks a definition against its type and turns it into what an agent gets. Defaults are filled in. */
export function resolveResource(definition: JsonObject, options: ResolveOptions): Resolution {
  const parts = splitDefinition(definition);
  const common = commonPropertiesSchema.safeParse(parts.common);
  if (!common.success) return { ok: false, issues: toIssues(common.error) };
  const { id, type: typeName, when: _when, removal = options.removal, ...rest } = common.data;
  const type = (options.types ?? resourceTypes).get(typeName);
  if (!type) return fault(["type"], noSuchType(typeName, options.types ?? resourceTypes));
  const spec = type.schema.safeParse(parts.spec);
  if (!spec.success) return { ok: false, issues: toIssues(spec.error) };

  const secret = rest.sensitive && type.identityHoldsValue?.(spec.data) === true;
  const own = secret ? null : type.identity(spec.data);
  const resourceId = id ?? (own === null ? undefined : `${typeName}:${own}`);
  const issues: Issue[] = [];
  if (resourceId === undefined) issues.push({ path: ["id"], message: `This ${typeName} needs an id.` });
  else if (!resourceIdSchema.safeParse(resourceId).success)
    issues.push({ path: ["id"], message: "Give it an id: its identity is no good as one." });
  for (const trigger of triggers) {
    const property = triggerProperties[trigger];
    if ((rest[property] ?? []).length === 0) continue;
    const message = type.triggering?.triggers.includes(trigger)
      ? type.triggering.faultWith?.(spec.data)
      : `A ${typeName} can't be made to ${trigger} by a trigger.`;
    if (typeof message === "string") issues.push({ path: [property], message });
  }
  const untriggered = watchesAny(rest) ? null : type.triggering?.faultWithout?.(spec.data);
  if (typeof untriggered === "string") issues.push({ path: [], message: untriggered });
  if (resourceId === undefined || issues.length > 0) return { ok: false, issues };
  const resource: ResolvedResource = {
    resource_id: resourceId,
    module: options.module,
    type: typeName,
    identity: own ?? `${options.module}/${resourceId}`,
    spec: spec.data as JsonObject,
    ...withoutUndefined(rest),
    ...(removal === "keep" && { removal }),
    ...(options.skip && { skip: options.skip }),
  };
  return { ok: true, resource };
}

/** What names the thing that a resource is about, across types that share a namespace. */
export function resourceIdentityKey(
  resource: Pick<ResolvedResource, "type" | "identity">,
  types: ResourceTypes,
): string {
  return identityKeyAmong(types, resource);
}

function fault(path: Issue["path"], message: string): Resolution {
  return { ok: false, issues: [{ path, message }] };
}

function toIssues(error: z.ZodError): Issue[] {
  return withoutEchoes(error.issues).map((issue) => ({
    path: issue.path.map((key) => (typeof key === "symbol" ? String(key) : key)),
    message: inPlainWords(issue),
  }));
}

/** Optional properties that are absent stay absent: JSON knows no undefined. */
function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}
