/** What a channel may be configured with: pure, so that a config is judged in the same way before it is sent. */
import type { z } from "zod";
import { OrchestratorError, type Issue } from "../../errors.ts";
import { toIssues, type SchemaFault } from "../../internal/schema-issues.ts";
import type { Json, JsonObject } from "../../json.ts";
import type { ChannelDocument } from "../documents.ts";

/** What stands in the place of a secret that nobody reads back. */
export const mask = "********";

const reference = /^secret:([a-z0-9][a-z0-9._-]{0,63})$/;

/** Characters of a config as JSON. */
const mostCharacters = 32_768;

/** A fault of a config, and of which kind the schema says it is. */
export type ConfigIssue = Issue & { kind: string };

/** The name of the secret that a field is read from; undefined where it is none. */
export function secretNamed(value: Json | undefined): string | undefined {
  // A list of one text reads like that text, and is none.
  return typeof value === "string" ? reference.exec(value)?.[1] : undefined;
}

/** Whether a field is read from a secret. */
export function isReference(value: Json | undefined): boolean {
  return secretNamed(value) !== undefined;
}

/** Refuses a config that is too large. Throws `VALIDATION_FAILED`. */
export function requireConfigSize(config: JsonObject): void {
  if (JSON.stringify(config).length > mostCharacters)
    throw invalidConfig([{ path: ["config"], message: `has more than ${mostCharacters} characters` }]);
}

/** What the schema of a type refuses of a config. */
export function toConfigIssues({ issues }: z.core.$ZodError): ConfigIssue[] {
  return issues.flatMap((fault) =>
    toIssues([fault as SchemaFault]).map(({ path, message }) => ({
      path: ["config", ...path],
      message,
      kind: fault.code,
    })),
  );
}

/** The refusal of a config. */
export function invalidConfig(issues: readonly Issue[]): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", {
    issues: issues.map(({ path, message }) => ({ path, message })),
  });
}

/** The way of a channel to its receiver. With another one nothing counts of what became of attempts before: neither a rest nor a refusal. */
export function wayOf({
  enabled,
  config,
  sealed_version,
}: Readonly<Pick<ChannelDocument, "enabled" | "config" | "sealed_version">>): string {
  return JSON.stringify([enabled, sealed_version, config]);
}
