import { isOrchestratorError, type Issue } from "../errors.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { parseModule } from "./module-document.ts";

/** What a look at the text of a module found. */
export interface ModuleCheck {
  /** Its name; null where it has faults. */
  name: string | null;
  /** How many resources it declares; 0 where it has faults. */
  resources: number;
  /** The first 500 faults, in the order of the text, each with its line and column. */
  faults: Issue[];
}

/**
 * Checks the text of a module as an upload does, without an orchestrator. Never throws for what is in it; what a type of your own throws
 * (a check of its schema, its `identity`) goes through.
 *
 * @param types - Types of resources to know. Default: all that ship with the package.
 */
export function checkModule(text: string, types: ResourceTypes = resourceTypes): ModuleCheck {
  try {
    const { name, resources } = parseModule(text, types);
    return { name, resources: resources.length, faults: [] };
  } catch (error) {
    if (!isOrchestratorError(error, "MODULE_INVALID")) throw error;
    return { name: null, resources: 0, faults: [...error.issues] };
  }
}
