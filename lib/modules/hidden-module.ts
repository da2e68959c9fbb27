/**
 * A module as those read it who may not write modules: without its secrets. In its text a secret resource or param is one line of JSON,
 * which is YAML, in the place of what was written, comments in it and before it included; all else stays as it is. The text is read
 * again and must say exactly what it is to say: else the whole of it is written anew.
 */
import type { Issue } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Json, JsonObject } from "../internal/json.ts";
import { splitDefinition } from "../state/definition.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { WorkBudget, type Work } from "../internal/work.ts";
import { hidden } from "../state/state-result.ts";
import { moduleLimits } from "./module-schema.ts";
import type { Param, Params } from "./params.ts";
import type { ParsedModule, ResourceDefinition, ResourceOutline } from "./parsed-module.ts";
import { findSecretParts } from "./secret-parts.ts";
import { replaceValues } from "./yaml-edit.ts";
import { YamlText } from "./yaml-text.ts";

/** What is shown of a module. */
export interface HiddenModule {
  content: string;
  params: Params;
  outline: readonly ResourceOutline[];
}

/** Hides the secrets of a module; null where it has none. */
export function* hideModule(content: string, module: ParsedModule): Work<HiddenModule | null> {
  const secret = findSecretParts(module);
  if (secret.resources.size === 0 && secret.params.size === 0) return null;
  const outline = module.outline.map((each, at) =>
    secret.resources.has(at) ? { ...each, identity: shownIdentity(module, at) } : each,
  );
  const params = Object.entries(module.params).map(([name, param]): [string, Param] => [
    name,
    secret.params.has(name) ? hideParam(param) : param,
  ]);
  const edits = [
    ...[...secret.params].map((name) => ({
      path: ["params", name],
      value: hideParam(module.params[name]!) as JsonObject,
    })),
    ...[...secret.resources].map((at) => ({
      path: ["resources", at],
      value: hideResource(module.resources[at]!, outline[at]!.identity),
    })),
  ];
  return { content: yield* hideText(content, edits), params: Object.fromEntries(params), outline };
}

interface Edit {
  path: Issue["path"];
  value: JsonObject;
}

function* hideText(content: string, edits: readonly Edit[]): Work<string> {
  const text = yield* YamlText.read(content, moduleLimits, new WorkBudget());
  const wanted = structuredClone(text.value) as JsonObject;
  for (const { path, value } of edits) {
    const [part, key] = path as [string, string | number];
    (wanted[part] as Record<string | number, Json>)[key] = value;
  }
  const replaced = replaceValues(
    content,
    text,
    edits.map(({ path, value }) => ({ path, text: JSON.stringify(value) })),
  );
  const read = yield* YamlText.read(replaced, moduleLimits, new WorkBudget());
  const isExact =
    !read.broken && read.issues.length === 0 && canonicalJson(read.value) === canonicalJson(wanted);
  return isExact ? replaced : `${JSON.stringify(wanted, null, 2)}\n`;
}

/** What every resource has stays, and the property that names it everywhere. */
function hideResource(definition: ResourceDefinition, identity: string): JsonObject {
  const { common, spec } = splitDefinition(definition);
  const values = Object.entries(spec).map(([name, value]) => [name, value === identity ? value : hidden]);
  return { ...common, ...(Object.fromEntries(values) as JsonObject) };
}

/** By which a default says of itself what it is; the rest would help to guess it. */
function hideParam({ type, description, sensitive, default: standard }: Param): Param {
  return {
    type,
    ...(sensitive !== undefined && { sensitive }),
    ...(description !== undefined && { description }),
    // Shown in place of a value, of whatever type that is.
    ...(standard !== undefined && { default: hidden }),
  } as Param;
}

/** As results name the resource: one whose identity quotes a value goes by its id. */
function shownIdentity({ name, resources, outline }: ParsedModule, at: number): string {
  const { id, type, identity } = outline[at]!;
  const holdsValue = resourceTypes.get(type)?.identityHoldsValue;
  if (!holdsValue) return identity;
  try {
    return holdsValue(splitDefinition(resources[at]!).spec) ? `${name}/${id}` : identity;
  } catch {
    return `${name}/${id}`;
  }
}
