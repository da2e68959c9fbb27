import type { EngineCommand } from "../../lib/agent/run-context.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { MessageOf, OrchestratorMessage } from "../../lib/wire/messages.ts";

/** A resolved resource of a module "web", as an orchestrator sends it. */
export function resource(definition: Record<string, string | string[] | boolean>): ResolvedResource {
  const resolution = resolveResource(definition, { module: "web" });
  if (!resolution.ok) throw new Error(JSON.stringify(resolution.issues));
  return resolution.resource;
}

/** A UUID that ends in a number. */
export function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

/** An apply that may begin until 2030-01-01T01:00Z. */
export function apply(
  number: number,
  parts: Partial<MessageOf<OrchestratorMessage, "apply">> = {},
): EngineCommand {
  return { type: "apply", ...runOf(number), allow_empty: false, ...parts };
}

/** A plan that may begin until 2030-01-01T01:00Z. */
export function plan(
  number: number,
  parts: Partial<MessageOf<OrchestratorMessage, "plan">> = {},
): EngineCommand {
  return { type: "plan", ...runOf(number), ...parts };
}

function runOf(number: number): Omit<MessageOf<OrchestratorMessage, "plan">, "type"> {
  return {
    id: uuid(900_000 + number),
    operation_id: uuid(number),
    not_after: "2030-01-01T01:00:00.000Z",
    resources: [],
    timeout_seconds: 60,
  };
}
