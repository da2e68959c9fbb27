/** From the text of a module to what it declares, or every fault in it with line and column. */
import { finish, WorkBudget, type Work } from "../internal/work.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { ModuleReader } from "./module-reader.ts";
import { moduleLimits } from "./module-schema.ts";
import type { ParsedModule } from "./parsed-module.ts";
import { YamlText } from "./yaml-text.ts";

/**
 * Reads a module from YAML.
 *
 * Templates are read, not evaluated, but for those that the defaults of params decide: what they give is checked too. The same
 * thing declared twice, an unknown id and a cycle are faults, as are keys that
 * nobody knows, duplicate keys, aliases, anchors and tags.
 *
 * @param types - Types of resources to know. Default: all that ship with the package.
 * @throws {OrchestratorError} `MODULE_INVALID` with an issue for every fault (the first 500), in the order of the text.
 */
export function parseModule(text: string, types: ResourceTypes = resourceTypes): ParsedModule {
  return finish(readModule(text, types));
}

/**
 * The same in slices.
 *
 * @param isStored - Whether it was taken in once, perhaps by a version that saw less: what contradicts itself is told where that matters,
 *   on the agents on which it meets. Default: no.
 */
export function* readModule(text: string, types: ResourceTypes, isStored = false): Work<ParsedModule> {
  const budget = new WorkBudget(moduleLimits.steps);
  const read = yield* YamlText.read(text, moduleLimits, budget);
  return yield* new ModuleReader(read, { types, budget }).read(isStored);
}
