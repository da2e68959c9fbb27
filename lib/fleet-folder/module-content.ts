import { isOrchestratorError } from "../errors.ts";
import { finish } from "../internal/work.ts";
import { hideModule } from "../module-format/hidden-module.ts";
import { parseModule } from "../module-format/module-document.ts";
import { findSecretParts } from "../module-format/secret-parts.ts";
import { resourceTypes } from "../state/resources/index.ts";

/**
 * Whether the text of a module may hold a secret as it is: a resource that is marked `sensitive`, or a default of a param that is secret.
 * What comes from a secret of the server (`{{ secrets.NAME }}`) is none. A text that can't be read may hold one, too.
 */
export function mayHoldPlainSecret(content: string): boolean {
  try {
    const module = parseModule(content);
    const { params } = findSecretParts(module);
    return (
      module.resources.some((resource) => resource["sensitive"] === true) ||
      [...params].some((name) => module.params[name]?.default !== undefined)
    );
  } catch (error) {
    if (isOrchestratorError(error, "MODULE_INVALID")) return true;
    throw error;
  }
}

/** A module without a fault as those see it who may not write modules; null where nothing of it is hidden. */
export function shownContent(content: string): string | null {
  return finish(hideModule(content, parseModule(content), resourceTypes))?.content ?? null;
}
